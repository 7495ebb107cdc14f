"""What it costs to use two parts of a machine together where the kernel does not say it: chosen figures, in one table.

The kernel tells distances between NUMA nodes only (SLIT: 10 within a node, more between two), so everything nearer than
a node is chosen to lie below 10, and everything that adds to a distance is small beside it:

| Name         | Cost | Of what                                                                                  |
|--------------|------|------------------------------------------------------------------------------------------|
| SAME_CORE    | 1    | two threads of one core                                                                  |
| SAME_L2      | 2    | two cores that share a second-level cache                                                |
| SAME_L3      | 4    | two cores that share a third-level cache                                                 |
| SAME_DIE     | 6    | two cores of one die                                                                     |
| SAME_PACKAGE | 8    | two cores of one package; further apart within a NUMA node, and between nodes: SLIT      |
| SAME_BUS     | 1    | two PCI functions with no bridge between them, such as those of one card                 |
| PER_BRIDGE   | 2    | each PCI bridge between two devices below one host bridge                                |
| HOST_BRIDGES | 8    | two devices below different host bridges, on top of SLIT between their nodes             |
| LINKED       | 1    | two devices with as many direct links as any two of the machine have                     |
| LINK_SPAN    | 36   | how much more two devices without a link cost (at least), where others have links        |

A bridge costs 2, so that two ports of one switch (4) stay below a node's 10 and a third level (8) does, too. From one
host bridge to another it is 18 at least, as much as over nine bridges below one; those above either device do not count
there, nor on the way to CPUs and memory, where SLIT alone counts, as for plugins that tell NUMA nodes only. Else a card
without a switch above it would be nearer to all CPUs and to all other devices, and the sum of that would outweigh its
being far from the one GPU. LINK_SPAN divides evenly by 1, 2, 3, 4, 6, 12 and 18 links, which boards have; and an
unlinked pair is farther than a PCI path within a node.
"""

SAME_CORE = 1
SAME_L2 = 2
SAME_L3 = 4
SAME_DIE = 6
SAME_PACKAGE = 8

SAME_BUS = 1
PER_BRIDGE = 2
HOST_BRIDGES = 8

LINKED = 1
LINK_SPAN = 36

LOCAL_DISTANCE = 10  # SLIT's distance of a node from itself, and what counts where a device's node is not known


def link_cost(count: int, most: int) -> int:
    """The cost of a pair with so many direct links, in a machine whose best linked pair has `most`.

    It falls by the same amount with each link: the cheapest set of devices is the one with the most links.
    """
    step = -(-LINK_SPAN // most)
    return LINKED + step * (most - count)
