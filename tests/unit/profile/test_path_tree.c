/* SPDX-License-Identifier: MIT */
/* Path numbers: equal for equal paths, distinct for other domains, with a limit. */
#include "path_tree.h"
#include "test.h"

TEST(a_path_keeps_its_number)
{
    struct path_tree tree;
    CHECK_INT(path_tree_init(&tree, 100000), 0);
    uint32_t root = path_tree_child(&tree, PATH_NONE, 7, 0);
    uint32_t load = path_tree_child(&tree, root, 1, 0);
    CHECK(load != root && load != PATH_OTHER);
    CHECK(path_tree_child(&tree, root, 1, 5) != load);
    CHECK(path_tree_child(&tree, path_tree_child(&tree, PATH_NONE, 8, 0), 1, 0) != load);
    static uint32_t numbers[50000];
    for (uint32_t i = 0; i < 50000; i++)
        numbers[i] = path_tree_child(&tree, load, i, i % 3);
    for (uint32_t i = 50000; i-- > 0;)
        CHECK_INT(path_tree_child(&tree, load, i, i % 3), numbers[i]);
    CHECK_INT(path_tree_child(&tree, root, 1, 0), load);
    CHECK_INT(path_tree_child(&tree, PATH_NONE, 7, 0), root);
    CHECK_INT(tree.count, 1 + 2 + 3 + 50000);
    path_tree_fini(&tree);
}

TEST(beyond_the_limit_everything_is_other)
{
    struct path_tree tree;
    CHECK_INT(path_tree_init(&tree, 10), 0);
    uint32_t root = path_tree_child(&tree, PATH_NONE, 0, 0);
    uint32_t others = 0;
    for (uint32_t i = 0; i < 100; i++)
        others += path_tree_child(&tree, root, i, 0) == PATH_OTHER;
    CHECK_INT(tree.count, 10);
    CHECK_INT(others, 92);
    CHECK_INT(path_tree_child(&tree, PATH_OTHER, 1, 0), PATH_OTHER);
    CHECK(path_tree_child(&tree, root, 3, 0) != PATH_OTHER);
    path_tree_fini(&tree);
    path_tree_fini(&tree);
}
