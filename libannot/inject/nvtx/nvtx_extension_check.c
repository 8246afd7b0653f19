/* SPDX-License-Identifier: MIT */
/* Checks nvtx_extension.h against NVTX's own headers, if the build finds those. */

#include "nvtx_extension.h"

#if __has_include(<nvtx3/nvToolsExtCounters.h>) && __has_include(<nvtx3/nvToolsExtMem.h>)
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, member, theirs, their_member)                                             \
    _Static_assert(offsetof(struct ours, member) == offsetof(theirs, their_member), #their_member)
#define SAME(ours, theirs) _Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)

SAME_SIZE(nvtx_blob_given, nvtxPayloadData_t);
SAME_PLACE(nvtx_blob_given, bytes, nvtxPayloadData_t, payload);
SAME_SIZE(nvtx_entry_given, nvtxPayloadSchemaEntry_t);
SAME_PLACE(nvtx_entry_given, name, nvtxPayloadSchemaEntry_t, name);
SAME_PLACE(nvtx_entry_given, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
SAME_PLACE(nvtx_entry_given, offset, nvtxPayloadSchemaEntry_t, offset);
SAME_PLACE(nvtx_entry_given, semantics, nvtxPayloadSchemaEntry_t, semantics);
SAME_SIZE(nvtx_schema_given, nvtxPayloadSchemaAttr_t);
SAME_PLACE(nvtx_schema_given, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_PLACE(nvtx_schema_given, size, nvtxPayloadSchemaAttr_t, payloadStaticSize);
SAME_PLACE(nvtx_schema_given, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_SIZE(nvtx_enum_value_given, nvtxPayloadEnum_t);
SAME_SIZE(nvtx_enum_given, nvtxPayloadEnumAttr_t);
SAME_PLACE(nvtx_enum_given, size, nvtxPayloadEnumAttr_t, sizeOfEnum);
SAME_SIZE(nvtx_scope_given, nvtxScopeAttr_t);
SAME_PLACE(nvtx_scope_given, parent, nvtxScopeAttr_t, parentScope);
SAME_SIZE(nvtx_time_given, nvtxTimeDomainAttr_t);
SAME_PLACE(nvtx_time_given, resolution, nvtxTimeDomainAttr_t, timerResolution);
SAME_SIZE(nvtx_sync_given, nvtxSyncPoint_t);
SAME_SIZE(nvtx_batch_given, nvtxEventBatch_t);
SAME_PLACE(nvtx_batch_given, flexible_offset, nvtxEventBatch_t, flexDataOffset);
SAME_SIZE(nvtx_semantics, nvtxSemanticsHeader_t);
SAME_SIZE(nvtx_semantics_number, nvtxSemanticsTime_t);
SAME_SIZE(nvtx_semantics_number, nvtxSemanticsScope_t);
SAME_PLACE(nvtx_semantics_counter, unit, nvtxSemanticsCounter_t, unit);
SAME_PLACE(nvtx_semantics_counter, divisor, nvtxSemanticsCounter_t, unitScaleDenominator);
SAME_SIZE(nvtx_counter_given, nvtxCounterAttr_t);
SAME_PLACE(nvtx_counter_given, semantics, nvtxCounterAttr_t, semantics);
SAME_SIZE(nvtx_samples_given, nvtxCounterBatch_t);
SAME_PLACE(nvtx_samples_given, times, nvtxCounterBatch_t, timestamps);
SAME_SIZE(nvtx_memory_given, nvtxMemVirtualRangeDesc_t);
SAME_SIZE(nvtx_heap_given, nvtxMemHeapDesc_t);
SAME_PLACE(nvtx_heap_given, range, nvtxMemHeapDesc_t, typeSpecificDesc);
SAME_PLACE(nvtx_heap_given, message, nvtxMemHeapDesc_t, message);
SAME_SIZE(nvtx_register_given, nvtxMemRegionsRegisterBatch_t);
SAME_PLACE(nvtx_register_given, handles, nvtxMemRegionsRegisterBatch_t, regionHandleElementsOut);
SAME_SIZE(nvtx_resize_given, nvtxMemRegionsResizeBatch_t);
SAME_SIZE(nvtx_resize_given, nvtxMemRegionsUnregisterBatch_t);
SAME_SIZE(nvtx_names_given, nvtxMemRegionsNameBatch_t);
SAME_PLACE(nvtx_names_given, elements, nvtxMemRegionsNameBatch_t, regionElements);
SAME_SIZE(nvtx_name_given, nvtxMemRegionNameDesc_t);
SAME_PLACE(nvtx_name_given, message, nvtxMemRegionNameDesc_t, name);
SAME_SIZE(nvtx_assign_given, nvtxMemPermissionsAssignRegionDesc_t);
SAME_SIZE(nvtx_permissions_given, nvtxMemPermissionsAssignBatch_t);
SAME_PLACE(nvtx_permissions_given, elements, nvtxMemPermissionsAssignBatch_t, regionElements);

SAME(NVTX_PAYLOAD_IS_BLOBS, NVTX_PAYLOAD_TYPE_EXT);
SAME(NVTX_ENTRY_ARRAYS, NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY);
SAME(NVTX_ENTRY_ARRAY_LENGTH_BLOB, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX);
SAME(NVTX_ENTRY_TIMESTAMP, NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP);
SAME(NVTX_ENTRY_MARK, NVTX_PAYLOAD_ENTRY_FLAG_MARK);
SAME(NVTX_TYPE_CHAR32 + 1, NVTX_PAYLOAD_ENTRY_TYPE_INFO_ARRAY_SIZE);
SAME(NVTX_TYPE_TF32, NVTX_PAYLOAD_ENTRY_TYPE_TF32);
SAME(NVTX_TYPE_TID64, NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64);
SAME(NVTX_TYPE_CSTRING_UTF32, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32);
SAME(NVTX_TYPE_STRING_HANDLE, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
SAME(NVTX_TYPE_SELECTOR, NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR);
SAME(NVTX_ID_STATIC, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
SAME(NVTX_ID_DYNAMIC, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
SAME(NVTX_SCHEMA_END, NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_END);
SAME(NVTX_SCHEMA_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ENUM_HAS_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_COUNTER_VALUE_TYPES, NVTX_COUNTER_FLAG_VALUETYPES);
SAME(NVTX_COUNTER_DELTA, NVTX_COUNTER_FLAG_VALUETYPE_DELTA);
SAME(NVTX_SCOPE_OF_CALLER, NVTX_SCOPE_CURRENT_SW_INNERMOST);
SAME(NVTX_TIME_SYSTEM, NVTX_TIMESTAMP_TYPE_CPP_SYSTEM_CLOCK);
#endif
