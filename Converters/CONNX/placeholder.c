#include "CONNX.h"
