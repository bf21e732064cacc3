-- What `flower "make me X"` runs. Copy it to change it; flower.options holds the
-- flags of the command line.
return require("flower.starter").starter(flower.options)
