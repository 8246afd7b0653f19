/* SPDX-License-Identifier: MIT */
/* Numbers of a comparison as texts: "+3.1 %", "+2.4 to +3.9 %" and "slower". A change is computed
 * from the numbers as compare_number_text prints them. Functions that return text return `buffer`
 * (COMPARE_TEXT_SIZE bytes), or constant text. Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_TEXT_H
#define ANNOT_COMPARE_TEXT_H

#include "compare.h"

#include <stdint.h>

enum { COMPARE_TEXT_SIZE = 64 };

/* Rounds to the printed digits; compare_digits returns the digits that two numbers need. */
double compare_rounded(double value, uint8_t unit, int digits);
int compare_digits(double a, double b);
const char *compare_value_text(double value, uint8_t unit, int digits, char *buffer);
const char *compare_percent_text(double a, double b, uint8_t unit, char *buffer);
const char *compare_difference_text(double a, double b, uint8_t unit, char *buffer);

/* Returns B - A of the printed numbers. */
double compare_shown_difference(double a, double b, uint8_t unit);

/* Returns B / A of the printed numbers; NaN: A is 0. */
double compare_ratio(double a, double b, uint8_t unit);
const char *compare_change_text(const struct compare_result *result, char *buffer);
const char *compare_interval_text(const struct compare_result *result, char *buffer);
const char *compare_number_text(const struct compare_result *result, double value, char *buffer);
const char *compare_verdict_text(const struct compare_result *result);

/* The name of a unit in machine output: "ns". */
const char *compare_unit_name(uint8_t unit);

#endif
