library(testthat)
library(gptr)

test_check("gptr")
