# options: -D dmi=4
rows = 4
dim = 8
