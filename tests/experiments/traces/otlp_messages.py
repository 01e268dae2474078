"""OTLP's messages for traces, from the fields that the protocol publishes (version 1, stable).

OpenTelemetry's own package of them cannot stand beside Ray, which takes it for the whole of OpenTelemetry.
"""

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
    "bool": _FIELD.TYPE_BOOL,
    "int64": _FIELD.TYPE_INT64,
    "double": _FIELD.TYPE_DOUBLE,
    "uint32": _FIELD.TYPE_UINT32,
    "fixed32": _FIELD.TYPE_FIXED32,
    "fixed64": _FIELD.TYPE_FIXED64,
    "int32": _FIELD.TYPE_INT32,
}
_MESSAGES: Final = {
    "AnyValue": "1 string string_value, 2 bool bool_value, 3 int64 int_value, 4 double double_value",
    "KeyValue": "1 string key, 2 AnyValue value",
    "Resource": "1 KeyValue* attributes, 2 uint32 dropped_attributes_count",
    "Scope": "1 string name, 2 string version, 3 KeyValue* attributes, 4 uint32 dropped_attributes_count",
    "Link": "1 bytes trace_id, 2 bytes span_id, 3 string trace_state, 4 KeyValue* attributes",
    "Status": "2 string message, 3 int32 code",
    "Span": "1 bytes trace_id, 2 bytes span_id, 3 string trace_state, 4 bytes parent_span_id,"
    " 5 string name, 6 int32 kind, 7 fixed64 start_time_unix_nano, 8 fixed64 end_time_unix_nano,"
    " 9 KeyValue* attributes, 13 Link* links, 15 Status status, 16 fixed32 flags",
    "ScopeSpans": "1 Scope scope, 2 Span* spans, 3 string schema_url",
    "ResourceSpans": "1 Resource resource, 2 ScopeSpans* scope_spans, 3 string schema_url",
    "TracesData": "1 ResourceSpans* resource_spans",
}
"""Message -> its fields: number, type (`*`: repeated), name. Enums are whole numbers, as in OTLP's JSON."""
ERROR: Final = 2
"""The code of a status that says that something failed."""


def _traces_data() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="otlp.proto", package="otlp", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for each in fields.split(", "):
            number, kind, of = each.split()
            field = message.field.add(name=of, number=int(number))
            repeated = kind.endswith("*")
            field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if plain := _KINDS.get(kind):
                field.type = plain
            else:
                field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".otlp.{kind.rstrip('*')}"
            if name == "AnyValue":
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("otlp.TracesData"))


TracesData: Final = _traces_data()
