"""The benchmark data sets as the paper uses them, and split makers for any data set."""
