def gate(:
    return
