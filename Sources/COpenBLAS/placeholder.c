#include "COpenBLAS.h"
