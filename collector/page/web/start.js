/* SPDX-License-Identifier: MIT */
/* The last script file: starts the page once all views are defined. */

start_page();
