# options: -D dim=4
dim = [8]
