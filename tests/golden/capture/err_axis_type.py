# options: -D dim=0.5
dim = 8
