"""Distribution functions and quantiles of scipy.special, without packages that it loads and does not use."""

from fairbench_cli.base.idle_packages import idle_packages

with idle_packages("numpy.f2py", "numpy.testing"):
    from scipy.special import gammainccinv, gammaincinv, ndtr, ndtri, stdtr, stdtrit

__all__ = ["gammainccinv", "gammaincinv", "ndtr", "ndtri", "stdtr", "stdtrit"]
