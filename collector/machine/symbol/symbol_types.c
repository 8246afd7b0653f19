/* SPDX-License-Identifier: MIT */
/* Types in debug information, as far as values of arguments go: numbers, addresses, enumerations,
 * texts. What a file says is foreign: chains of names are bounded. Source: DWARF 5, chapter 5.
 * Thread-safety: none needed. */
#include "symbol_parts.h"

#include <dwarf.h>
#include <string.h>

enum { WORD = 8, NAMES_MAX = 64 };

static bool is_other_name(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/* Without names and qualifiers, which a damaged file may chain for ever. */
bool symbol_type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
{
    Dwarf_Attribute attribute;
    Dwarf_Die type = *die;
    for (int i = 0; i < NAMES_MAX; i++) {
        if (!dwarf_attr_integrate(&type, DW_AT_type, &attribute) ||
            !dwarf_formref_die(&attribute, ret_type))
            return false;
        type = *ret_type;
        if (!is_other_name(dwarf_tag(&type)))
            return true;
    }
    return false;
}

static unsigned encoding_of(Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Word encoding = 0;
    if (!dwarf_attr(type, DW_AT_encoding, &attribute) ||
        dwarf_formudata(&attribute, &encoding) != 0)
        return 0;
    return (unsigned)encoding;
}

/* Of forms that do not say whether they have a sign, compilers use those for positive ones. */
bool symbol_type_constant(Dwarf_Die *die, int64_t *ret_value)
{
    Dwarf_Attribute attribute;
    Dwarf_Sword with_sign;
    Dwarf_Word without;
    if (!dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
        return false;
    unsigned form = dwarf_whatform(&attribute);
    bool has_sign = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
    if (has_sign ? dwarf_formsdata(&attribute, &with_sign) != 0
                 : dwarf_formudata(&attribute, &without) != 0)
        return false;
    *ret_value = has_sign ? with_sign : (int64_t)without;
    return true;
}

static bool is_one_byte(Dwarf_Die *type)
{
    return dwarf_tag(type) == DW_TAG_base_type && dwarf_bytesize(type) == 1;
}

/* Of C: that of bytes which are no text has another name. */
static bool points_to_text(Dwarf_Die *pointer)
{
    Dwarf_Die target;
    const char *name = symbol_type_of(pointer, &target) ? dwarf_diename(&target) : NULL;
    return name && is_one_byte(&target) && strcmp(name, "char") == 0;
}

static enum code_type base_type(Dwarf_Die *type, int size)
{
    switch (encoding_of(type)) {
    case DW_ATE_boolean:
        return CODE_BOOL;
    case DW_ATE_float:
        return size == 4 || size == WORD ? CODE_FLOAT : CODE_OTHER_TYPE;
    case DW_ATE_signed:
    case DW_ATE_signed_char:
        return size <= WORD ? CODE_SIGNED : CODE_OTHER_TYPE;
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
        return size <= WORD ? CODE_UNSIGNED : CODE_OTHER_TYPE;
    default:
        return CODE_OTHER_TYPE;
    }
}

bool symbol_type_is_pointer(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
           tag == DW_TAG_rvalue_reference_type;
}

/* An address, or a number as wide. */
static bool is_integer_word(Dwarf_Die *type)
{
    if (symbol_type_is_pointer(dwarf_tag(type)))
        return true;
    enum code_type base = base_type(type, WORD);
    return dwarf_tag(type) == DW_TAG_base_type && dwarf_bytesize(type) == WORD &&
           (base == CODE_SIGNED || base == CODE_UNSIGNED);
}

/* Two words, none of them a floating-point number: members by their place. */
bool symbol_type_is_pair(Dwarf_Die *type, Dwarf_Die members[2])
{
    Dwarf_Die member;
    unsigned found = 0;
    if ((dwarf_tag(type) != DW_TAG_structure_type && dwarf_tag(type) != DW_TAG_class_type) ||
        dwarf_bytesize(type) != 2 * WORD || dwarf_child(type, &member) != 0)
        return false;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Word at = 0;
        Dwarf_Die own;
        if (dwarf_tag(&member) != DW_TAG_member || dwarf_hasattr(&member, DW_AT_declaration))
            continue;
        if (dwarf_attr(&member, DW_AT_data_member_location, &attribute) &&
            dwarf_formudata(&attribute, &at) != 0)
            return false;
        if ((at != 0 && at != WORD) || !symbol_type_of(&member, &own) || !is_integer_word(&own))
            return false;
        members[at / WORD] = own;
        found |= 1u << (at / WORD);
    } while (dwarf_siblingof(&member, &member) == 0);
    return found == 3;
}

static bool is_go_string(Dwarf_Die *type, const char *name)
{
    Dwarf_Die member;
    const char *first = strcmp(name, "string") == 0 && dwarf_child(type, &member) == 0
                            ? dwarf_diename(&member)
                            : NULL;
    return first && strcmp(first, "str") == 0;
}

/* An address of bytes and how many there are, in either order. Other pairs may mean anything. */
static bool is_counted_text(Dwarf_Die *type, bool *ret_length_first)
{
    static const char view[] = "basic_string_view<char";
    Dwarf_Die members[2], target;
    const char *name = dwarf_diename(type);
    bool known =
        name &&
        (strcmp(name, "&str") == 0 || is_go_string(type, name) ||
         (strncmp(name, view, sizeof(view) - 1) == 0 && strchr(",> ", name[sizeof(view) - 1])));
    if (!known || !symbol_type_is_pair(type, members))
        return false;
    bool length_first = !symbol_type_is_pointer(dwarf_tag(&members[0]));
    Dwarf_Die *address = &members[length_first], *length = &members[!length_first];
    *ret_length_first = length_first;
    return symbol_type_is_pointer(dwarf_tag(address)) &&
           !symbol_type_is_pointer(dwarf_tag(length)) && symbol_type_of(address, &target) &&
           is_one_byte(&target);
}

void symbol_type_describe(Dwarf_Die *type, struct code_argument *argument)
{
    int tag = dwarf_tag(type), size = dwarf_bytesize(type);
    bool length_first;
    argument->type = CODE_OTHER_TYPE;
    argument->size = size > 0 && size <= 2 * WORD ? (uint8_t)size : 0;
    if (symbol_type_is_pointer(tag)) {
        argument->size = WORD;
        argument->type =
            tag == DW_TAG_pointer_type && points_to_text(type) ? CODE_TEXT : CODE_UNSIGNED;
    } else if (tag == DW_TAG_base_type && size > 0) {
        argument->type = base_type(type, size);
    } else if (tag == DW_TAG_enumeration_type && size > 0 && size <= WORD) {
        argument->type = CODE_SIGNED;
    } else if (is_counted_text(type, &length_first)) {
        argument->type = CODE_COUNTED_TEXT;
        argument->length_first = length_first;
    }
}

void symbol_type_choices(Dwarf_Die *type, struct code_choice choices[SYMBOL_CHOICES_MAX],
                         struct code_argument *argument)
{
    Dwarf_Die member;
    argument->choices = choices;
    if (dwarf_tag(type) != DW_TAG_enumeration_type || dwarf_child(type, &member) != 0)
        return;
    do {
        int64_t value;
        const char *name = dwarf_diename(&member);
        if (dwarf_tag(&member) == DW_TAG_enumerator && name &&
            symbol_type_constant(&member, &value))
            choices[argument->choice_count++] = (struct code_choice){value, name};
    } while (argument->choice_count < SYMBOL_CHOICES_MAX && dwarf_siblingof(&member, &member) == 0);
}
