/* SPDX-License-Identifier: MIT */
/* Arguments of functions, from debug information: names, types, and their places at the function's
 * entry.
 *
 * A list of places covers the entry. A single place for the whole function is where unoptimised
 * code stores the argument later, not at the entry: then the calling convention decides. Source:
 * DWARF 5, sections 2.5, 2.6 and 4.1. Thread-safety: one thread per object. */
#include "symbol_arguments.h"

#include "symbol_debug.h"
#include "symbol_module.h"

#include <errno.h>

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <string.h>

/* ---- Types ----------------------------------------------------------------------------------- */

/* Types in debug information, as far as arguments need them: numbers, addresses, enumerations,
 * texts. Files are foreign: chains of names are bounded. Source: DWARF 5, chapter 5. Thread-safety:
 * any thread. */

enum { WORD = 8, NAMES_MAX = 64, SYMBOL_CHOICES_MAX = 256 };

static bool is_other_name(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/* The type without typedefs and qualifiers, which a damaged file may chain for ever. */
static bool symbol_type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
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

/* Compilers use the forms without a defined sign for positive values. */
static bool symbol_type_constant(Dwarf_Die *die, int64_t *ret_value)
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

/* True for C texts: a byte type for other data has another name. */
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

/* True if a type's tag is an address. */
static bool symbol_type_is_pointer(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
           tag == DW_TAG_rvalue_reference_type;
}

/* True for an address, or a number of that width. */
static bool is_integer_word(Dwarf_Die *type)
{
    if (symbol_type_is_pointer(dwarf_tag(type)))
        return true;
    enum code_type base = base_type(type, WORD);
    return dwarf_tag(type) == DW_TAG_base_type && dwarf_bytesize(type) == WORD &&
           (base == CODE_SIGNED || base == CODE_UNSIGNED);
}

/* True for two words without floating-point numbers; returns the members by offset. */
static bool symbol_type_is_pair(Dwarf_Die *type, Dwarf_Die members[2])
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

/* True for an address of bytes and their number, in either order. Other pairs are ambiguous. */
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

/* Sets type and size. */
static void symbol_type_describe(Dwarf_Die *type, struct code_argument *argument)
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

/* Sets the names of an enumeration; `choices` then belong to the argument. */
static void symbol_type_choices(Dwarf_Die *type, struct code_choice choices[SYMBOL_CHOICES_MAX],
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

/* ---- Calling convention ---------------------------------------------------------------------- */

/* The places of arguments at a function's entry, by the calling convention. Certain for numbers,
 * addresses and pairs of them passed by value; after any other argument the places are unknown.
 * Sources: System V ABI, AMD64 supplement, 3.2.3; Itanium C++ ABI, 3.1.2 and 3.1.3. Thread-safety:
 * any thread. */

/* The registers and stack used by the arguments so far. */
struct symbol_convention {
    bool known;
    unsigned integers, vectors;
    int64_t stack;   /* after the return address */
    bool stack_lost; /* an argument of unknown alignment is on the stack */
};

enum { ABI_INTEGERS = 6, ABI_VECTORS = 8 };

static const uint8_t abi_registers[ABI_INTEGERS] = {7, 6, 2, 1, 8, 9};

/* May be missing in the library's header. */
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

/* The way objects of a class are passed: DW_CC_pass_by_... */
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

/* True if it takes an object of its class: it copies or moves. */
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

/* True for a class of numbers and addresses that is passed by value, judging by its methods. */
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

/* True if a pair is passed in two registers. */
static bool is_passed_as_pair(int language, Dwarf_Die *type)
{
    Dwarf_Die members[2];
    if (!symbol_type_is_pair(type, members))
        return false;
    return !is_cxx(language) || passing_of(type) == PASSED_BY_VALUE ||
           (passing_of(type) == PASSED_UNKNOWN && is_plain_class(type));
}

/* Begins the arguments; a result stored at an address from the caller takes the first register. */
static void symbol_convention_begin(Dwarf_Die *function, int language,
                                    struct symbol_convention *abi)
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

/* The number of integer registers it takes; 0: others, or unknown. */
static unsigned integers_of(int language, Dwarf_Die *type, const struct code_argument *argument)
{
    if (is_scalar(dwarf_tag(type)))
        return argument->type != CODE_OTHER_TYPE && argument->type != CODE_FLOAT;
    if (is_cxx(language) && passing_of(type) == PASSED_BY_REFERENCE)
        return 1;
    return is_passed_as_pair(language, type) ? 2 : 0;
}

/* Places the next argument. After one passed in an unsupported way, all are unknown. */
static void symbol_convention_next(struct symbol_convention *abi, int language, Dwarf_Die *type,
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

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 16, FIRST_VECTOR = 17, VECTORS = 16 }; /* DWARF's numbers */

enum { OWN_STORE = 1 };

/* The processor's register numbers by DWARF's. */
static const uint8_t processor_number[REGISTERS] = {0, 2, 1,  3,  6,  7,  5,  4,
                                                    8, 9, 10, 11, 12, 13, 14, 15};

/* ---- Places ---------------------------------------------------------------------------------- */

/* DWARF's number; UINT32_MAX: not a register. */
static uint32_t register_of(const Dwarf_Op *op)
{
    if (op->atom == DW_OP_regx)
        return op->number < UINT32_MAX ? (uint32_t)op->number : UINT32_MAX;
    return op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31 ? (uint32_t)op->atom - DW_OP_reg0
                                                             : UINT32_MAX;
}

static bool take_register(const Dwarf_Op *op, uint8_t *ret_register)
{
    uint32_t number = register_of(op);
    if (number >= REGISTERS)
        return false;
    *ret_register = processor_number[number];
    return true;
}

static bool is_vector(const Dwarf_Op *op)
{
    uint32_t number = register_of(op);
    return number >= FIRST_VECTOR && number - FIRST_VECTOR < VECTORS;
}

/* Takes operations that give a constant. */
static bool take_constant(const Dwarf_Op *ops, size_t count, struct code_argument *argument)
{
    if (count != 2 || ops[1].atom != DW_OP_stack_value)
        return false;
    if (ops[0].atom >= DW_OP_lit0 && ops[0].atom <= DW_OP_lit31)
        argument->offset = ops[0].atom - DW_OP_lit0;
    else if (ops[0].atom >= DW_OP_const1u && ops[0].atom <= DW_OP_consts)
        argument->offset = (int64_t)ops[0].number;
    else
        return false;
    argument->where = CODE_CONSTANT;
    return true;
}

/* Takes a register's value with unused bits of its type masked. */
static bool take_masked(const Dwarf_Op *ops, size_t count, struct code_argument *argument)
{
    bool is_bool = argument->type == CODE_BOOL;
    uint64_t mask = UINT64_MAX,
             used = argument->size >= WORD ? UINT64_MAX : (UINT64_C(1) << 8 * argument->size) - 1;
    size_t at = 1;
    if (count < 2 || ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg15 || ops[0].number != 0)
        return false;
    for (; at + 1 < count && ops[at].atom == DW_OP_constu && ops[at + 1].atom == DW_OP_and; at += 2)
        mask &= ops[at].number;
    while (is_bool && at < count && ops[at].atom == DW_OP_convert)
        at++;
    if (at + 1 != count || ops[at].atom != DW_OP_stack_value ||
        ((mask & used) != used && (!is_bool || (mask & 1) == 0)))
        return false;
    argument->where = CODE_IN_REGISTER;
    argument->reg = processor_number[ops[0].atom - DW_OP_breg0];
    return true;
}

static bool take_two(const Dwarf_Op *ops, size_t count, struct code_argument *argument)
{
    return count == 4 && argument->type == CODE_COUNTED_TEXT && ops[1].atom == DW_OP_piece &&
           ops[1].number == WORD && ops[3].atom == DW_OP_piece && ops[3].number == WORD &&
           take_register(&ops[0], &argument->reg) && take_register(&ops[2], &argument->second);
}

/* The start of the caller's frame, relative to the function's places. false: another base. */
static bool frame_shift(Dwarf_Die *function, int64_t *ret_shift)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1)
        return false;
    *ret_shift = ops[0].atom == DW_OP_call_frame_cfa ? WORD : -WORD; /* rbp: after it was pushed */
    return ops[0].atom == DW_OP_call_frame_cfa || ops[0].atom == DW_OP_reg6;
}

/* Finds the place at the entry from one list of operations. OWN_STORE: it is the place where the
 * function's own code stores it. */
static int take_place(Dwarf_Die *function, const Dwarf_Op *ops, size_t count,
                      struct code_argument *argument)
{
    int64_t shift;
    argument->where = CODE_NOT_KNOWN;
    if (count == 1 && take_register(&ops[0], &argument->reg)) {
        argument->where = argument->type == CODE_COUNTED_TEXT ? CODE_IN_PARTS : CODE_IN_REGISTER;
    } else if (count == 1 && is_vector(&ops[0])) {
        argument->where = CODE_IN_VECTOR;
    } else if (take_constant(ops, count, argument) || take_masked(ops, count, argument)) {
        return 0;
    } else if (take_two(ops, count, argument)) {
        argument->where = CODE_IN_REGISTER;
    } else if (ops[0].atom == DW_OP_piece) {
        argument->where = CODE_OPTIMISED_OUT; /* its first part has no place */
    } else if (count > 1 && ops[1].atom == DW_OP_piece) {
        argument->where = CODE_IN_PARTS;
    } else if (count == 1 && ops[0].atom == DW_OP_fbreg && frame_shift(function, &shift)) {
        argument->offset = (int64_t)ops[0].number + shift;
        if (argument->offset < WORD)
            return OWN_STORE;
        argument->where = argument->type == CODE_COUNTED_TEXT ? CODE_IN_PARTS : CODE_ON_STACK;
    } else if (count == 1 && ops[0].atom == DW_OP_fbreg) {
        return OWN_STORE;
    } else if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa) {
        argument->offset = WORD;
        argument->where = CODE_ON_STACK;
    }
    return 0;
}

/* `convention`: its place by the calling convention. */
static void find_place(Dwarf_Die *function, Dwarf_Die *parameter, uint64_t entry,
                       const struct code_argument *convention, struct code_argument *argument)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops[2];
    size_t counts[2];
    argument->where = CODE_OPTIMISED_OUT;
    if (symbol_type_constant(parameter, &argument->offset)) {
        argument->where = CODE_CONSTANT;
        return;
    }
    if (!dwarf_attr_integrate(parameter, DW_AT_location, &attribute))
        return;
    int found = dwarf_getlocation_addr(&attribute, entry, ops, counts, 2);
    if (found < 0) /* in a form that is invalid in its version of DWARF, as compilers of Go write */
        argument->where = CODE_NOT_KNOWN;
    if (found == 1 && counts[0] > 0 &&
        take_place(function, ops[0], counts[0], argument) == OWN_STORE)
        *argument = *convention;
}

/* ---- Functions ------------------------------------------------------------------------------- */

struct search {
    uint64_t begin;
    Dwarf_Die *ret_function;
    bool found;
};

static int compare_function(Dwarf_Die *function, void *context)
{
    struct search *search = context;
    Dwarf_Addr begin;
    search->found = dwarf_entrypc(function, &begin) == 0 && begin == search->begin;
    if (search->found)
        *search->ret_function = *function;
    return search->found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Finds functions in namespaces, too, which a search by address skips. */
static bool find_function(struct symbol_lines *lines, uint64_t begin, Dwarf_Die *ret_unit,
                          Dwarf_Die *ret_function)
{
    struct search search = {begin, ret_function, false};
    if (!symbol_lines_unit(lines, begin, ret_unit))
        return false;
    (void)dwarf_getfuncs(ret_unit, compare_function, &search, 0);
    return search.found;
}

/* True for results in Go, which are listed among the arguments. */
static bool is_result(Dwarf_Die *parameter)
{
    Dwarf_Attribute attribute;
    bool is = false;
    return dwarf_attr_integrate(parameter, DW_AT_variable_parameter, &attribute) &&
           dwarf_formflag(&attribute, &is) == 0 && is;
}

int symbol_lines_arguments(struct symbol_lines *lines, const struct code_entry *entry,
                           code_argument_visit *visit, void *context)
{
    static const struct code_argument none = {.where = CODE_NOT_KNOWN};
    struct code_choice choices[SYMBOL_CHOICES_MAX];
    Dwarf_Die unit, function, parameter, type;
    struct symbol_convention abi;
    if (!find_function(lines, entry->begin, &unit, &function))
        return -ENOENT;
    int language = dwarf_srclang(&unit), error = 0;
    symbol_convention_begin(&function, language, &abi);
    if (dwarf_child(&function, &parameter) != 0)
        return 0;
    do {
        struct code_argument argument = none;
        if (dwarf_tag(&parameter) != DW_TAG_formal_parameter || is_result(&parameter))
            continue;
        argument.name = dwarf_diename(&parameter);
        bool typed = symbol_type_of(&parameter, &type);
        if (typed) {
            symbol_type_describe(&type, &argument);
            symbol_type_choices(&type, choices, &argument);
        }
        struct code_argument convention = argument;
        if (typed)
            symbol_convention_next(&abi, language, &type, &convention);
        abi.known &= typed;
        find_place(&function, &parameter, entry->entry, &convention, &argument);
        error = visit(context, &argument);
    } while (error == 0 && dwarf_siblingof(&parameter, &parameter) == 0);
    return error;
}

#else

int symbol_lines_arguments(struct symbol_lines *lines, const struct code_entry *entry,
                           code_argument_visit *visit, void *context)
{
    (void)lines, (void)entry, (void)visit, (void)context;
    return -ENOENT;
}

#endif
