"""Split makers for any data set: random, by length, by template, by compound divergence."""
