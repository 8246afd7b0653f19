/* SPDX-License-Identifier: MIT */
/* The last file of the script: all views are there. */

start_page();
