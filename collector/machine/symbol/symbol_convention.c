/* SPDX-License-Identifier: MIT */
/* Where the calling convention has arguments when a function begins. That is certain for numbers,
 * addresses and what is copied as two of them; behind anything else nothing is known. Sources:
 * System V ABI, AMD64 supplement, 3.2.3; Itanium C++ ABI, 3.1.2 and 3.1.3. Thread-safety: none
 * needed. */
#include "symbol_parts.h"

#include <dwarf.h>
#include <string.h>

enum { WORD = 8, ABI_INTEGERS = 6, ABI_VECTORS = 8 };

static const uint8_t abi_registers[ABI_INTEGERS] = {7, 6, 2, 1, 8, 9};

/* That the library's header need not know yet. */
enum {
    LANG_CXX_17 = 0x2b,
    LANG_C_17 = 0x2c,
    LANG_CXX_20 = 0x2e,
    LANG_CXX_23 = 0x3a,
    LANG_C_23 = 0x3e
};

static bool is_c(int language)
{
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
           language == DW_LANG_C11 || language == LANG_C_17 || language == LANG_C_23;
}

static bool is_cxx(int language)
{
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
           language == LANG_CXX_17 || language == LANG_CXX_20 || language == LANG_CXX_23;
}

/* How objects of a class are given to functions: DW_CC_pass_by_... */
enum { PASSED_UNKNOWN = 0, PASSED_BY_REFERENCE = 4, PASSED_BY_VALUE = 5 };

static unsigned passing_of(Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Word passing = PASSED_UNKNOWN;
    if (dwarf_attr(type, DW_AT_calling_convention, &attribute) &&
        dwarf_formudata(&attribute, &passing) == 0)
        return (unsigned)passing;
    return PASSED_UNKNOWN;
}

static bool is_scalar(int tag)
{
    return tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type || symbol_type_is_pointer(tag);
}

/* "Name" of "Name<...>", and not "~Name". */
static bool is_constructor(const char *name, const char *class_name)
{
    size_t length = name ? strlen(name) : 0;
    return length > 0 && class_name && strncmp(name, class_name, length) == 0 &&
           (class_name[length] == 0 || class_name[length] == '<');
}

/* It takes an object of its class: copies or moves it. */
static bool copies(Dwarf_Die *method)
{
    Dwarf_Die parameter, type;
    unsigned count = 0, references = 0;
    if (dwarf_child(method, &parameter) != 0)
        return false;
    do {
        if (dwarf_tag(&parameter) != DW_TAG_formal_parameter ||
            dwarf_hasattr(&parameter, DW_AT_artificial) || !symbol_type_of(&parameter, &type))
            continue;
        count++;
        references +=
            symbol_type_is_pointer(dwarf_tag(&type)) && dwarf_tag(&type) != DW_TAG_pointer_type;
    } while (dwarf_siblingof(&parameter, &parameter) == 0);
    return count == 1 && references == 1;
}

static bool is_defaulted(Dwarf_Die *method)
{
    enum { IN_CLASS = 1 };

    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_attr(method, DW_AT_defaulted, &attribute) &&
           dwarf_formudata(&attribute, &value) == 0 && value == IN_CLASS;
}

/* A class of numbers and addresses that is copied as such, as far as its methods tell. */
static bool is_plain_class(Dwarf_Die *type)
{
    const char *class_name = dwarf_diename(type);
    Dwarf_Die member;
    if (dwarf_child(type, &member) != 0)
        return true;
    do {
        int tag = dwarf_tag(&member);
        const char *name = tag == DW_TAG_subprogram ? dwarf_diename(&member) : NULL;
        bool special =
            name && (name[0] == '~' || (is_constructor(name, class_name) && copies(&member)));
        if (tag == DW_TAG_inheritance || (special && !is_defaulted(&member)))
            return false;
    } while (dwarf_siblingof(&member, &member) == 0);
    return true;
}

/* Of two words. */
static bool is_passed_as_pair(int language, Dwarf_Die *type)
{
    Dwarf_Die members[2];
    if (!symbol_type_is_pair(type, members))
        return false;
    return !is_cxx(language) || passing_of(type) == PASSED_BY_VALUE ||
           (passing_of(type) == PASSED_UNKNOWN && is_plain_class(type));
}

/* Results that are stored where the caller says take the first register. */
void symbol_convention_begin(Dwarf_Die *function, int language, struct symbol_convention *abi)
{
    Dwarf_Die type;
    *abi = (struct symbol_convention){
        .known = is_c(language) || is_cxx(language) || language == DW_LANG_Rust, .stack = WORD};
    if (!symbol_type_of(function, &type) || is_scalar(dwarf_tag(&type)))
        return;
    unsigned passing = passing_of(&type);
    if (dwarf_bytesize(&type) > 2 * WORD || passing == PASSED_BY_REFERENCE)
        abi->integers = 1;
    else
        abi->known &=
            is_c(language) || passing == PASSED_BY_VALUE || is_passed_as_pair(language, &type);
}

static void take_stack(struct symbol_convention *abi, unsigned words,
                       struct code_argument *argument)
{
    argument->where = abi->stack_lost ? CODE_NOT_KNOWN : words == 1 ? CODE_ON_STACK : CODE_IN_PARTS;
    argument->offset = abi->stack;
    abi->stack += (int64_t)WORD * words;
}

static void take_integers(struct symbol_convention *abi, unsigned count,
                          struct code_argument *argument)
{
    if (abi->integers + count > ABI_INTEGERS) {
        take_stack(abi, count, argument);
        return;
    }
    argument->where = CODE_IN_REGISTER;
    argument->reg = abi_registers[abi->integers];
    argument->second = count > 1 ? abi_registers[abi->integers + 1] : 0;
    abi->integers += count;
}

static void take_vector(struct symbol_convention *abi, struct code_argument *argument)
{
    if (abi->vectors == ABI_VECTORS) {
        take_stack(abi, 1, argument);
        return;
    }
    argument->where = CODE_IN_VECTOR;
    abi->vectors++;
}

/* Registers for integers that it takes; 0: others, or not known. */
static unsigned integers_of(int language, Dwarf_Die *type, const struct code_argument *argument)
{
    if (is_scalar(dwarf_tag(type)))
        return argument->type != CODE_OTHER_TYPE && argument->type != CODE_FLOAT;
    if (is_cxx(language) && passing_of(type) == PASSED_BY_REFERENCE)
        return 1;
    return is_passed_as_pair(language, type) ? 2 : 0;
}

/* The next one. Behind one that is passed in a way not known here, none is known. */
void symbol_convention_next(struct symbol_convention *abi, int language, Dwarf_Die *type,
                            struct code_argument *argument)
{
    unsigned integers = integers_of(language, type, argument);
    argument->where = CODE_NOT_KNOWN;
    if (!abi->known)
        return;
    if (argument->type == CODE_FLOAT)
        take_vector(abi, argument);
    else if (integers > 0)
        take_integers(abi, integers, argument);
    else if (is_c(language) && !is_scalar(dwarf_tag(type)) && dwarf_bytesize(type) > 2 * WORD)
        abi->stack_lost = true;
    else
        abi->known = false;
}
