module hoptax/apps/limiter

go 1.24

require golang.org/x/time v0.12.0
