"""Other people's studies: the values of their repeats, judged by the tests that judge runs."""
