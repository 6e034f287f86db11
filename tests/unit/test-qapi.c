/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QAPI values: JSON in and out by the description of a type; what does not fit is refused by its member's name. */
#include <check.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "qapi/qapi-commands.h"

/* The JSON that comes out for the JSON that goes in, or "! ERROR". */
static char *round_trip(const QapiType *type, const char *text)
{
    g_autofree void *value = g_malloc(type->size);
    json_object *in = json_tokener_parse(text), *out;
    Error *err = NULL;
    char *result;

    ck_assert_msg(in != NULL, "the test's own JSON is wrong: %s", text);
    if (qapi_from_json(type, in, value, &err)) {
        out = qapi_to_json(type, value);
        result = g_strdup(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PLAIN));
        json_object_put(out);
        qapi_clear(type, value);
    } else {
        result = g_strconcat("! ", error_text(err), NULL);
        error_free(err);
    }
    json_object_put(in);
    return result;
}

typedef struct Case {
    const QapiType *type;
    const char *in, *out;       /* out NULL: the same */
} Case;

static const Case cases[] = {
    { &qapi_type_StatusInfo, "{\"running\":true,\"status\":\"finish-migrate\"}", NULL },
    { &qapi_type_VersionInfo, "{\"qemu\":{\"major\":1,\"minor\":-2,\"micro\":3},\"package\":\"p\"}", NULL },
    { &qapi_type_MemoryLockInfo,
      "{\"mode\":\"on-fault\",\"locked\":18446744073709551615,\"resident\":0,\"ram\":0,\"discarded\":0,"
      "\"discard-failures\":0}", NULL },
    { &qapi_type_ObjectPropertyInfo, "{\"name\":\"a\",\"type\":\"b\",\"default-value\":[1,{\"x\":null}]}", NULL },
    { &qapi_type_NameInfo, "{}", NULL },
    { &qapi_list_CommandInfo, "[{\"name\":\"a\"},{\"name\":\"b\"}]", NULL },
    { &qapi_list_CommandInfo, "[]", NULL },
    { &qapi_type_StatusInfo, "{\"running\":true}", "! Parameter 'status' is missing" },
    { &qapi_type_StatusInfo, "{\"running\":1,\"status\":\"paused\"}",
      "! Invalid parameter type for 'running', expected: boolean" },
    { &qapi_type_StatusInfo, "{\"running\":true,\"status\":\"asleep\"}",
      "! Parameter 'status' does not accept value 'asleep'" },
    { &qapi_type_StatusInfo, "{\"running\":true,\"status\":3}",
      "! Invalid parameter type for 'status', expected: string" },
    { &qapi_type_StatusInfo, "[]", "! Invalid parameter type for '', expected: object" },
    { &qapi_type_NameInfo, "{\"name\":null}", "! Invalid parameter type for 'name', expected: string" },
    { &qapi_type_NameInfo, "{\"nom\":\"x\"}", "! Parameter 'nom' is unexpected" },
    { &qapi_type_VersionInfo, "{\"qemu\":{\"major\":1,\"minor\":2},\"package\":\"p\"}",
      "! Parameter 'qemu.micro' is missing" },
    { &qapi_type_VersionInfo, "{\"qemu\":{\"major\":1,\"minor\":2,\"micro\":3,\"nano\":4},\"package\":\"p\"}",
      "! Parameter 'qemu.nano' is unexpected" },
    { &qapi_type_VersionInfo, "{\"qemu\":{\"major\":1.5,\"minor\":2,\"micro\":3},\"package\":\"p\"}",
      "! Invalid parameter type for 'qemu.major', expected: integer" },
    { &qapi_type_VersionInfo, "{\"qemu\":{\"major\":9223372036854775808,\"minor\":2,\"micro\":3},\"package\":\"p\"}",
      "! Parameter 'qemu.major' cannot take '9223372036854775808': out of range" },
    { &qapi_type_MemoryLockInfo, "{\"mode\":\"on\",\"locked\":-1}",
      "! Parameter 'locked' cannot take '-1': out of range" },
    { &qapi_list_CommandInfo, "[{\"name\":\"a\"},{}]", "! Parameter '[1].name' is missing" },
    { &qapi_type_SchemaInfo, "{\"name\":\"int\",\"meta-type\":\"builtin\",\"json-type\":\"int\"}", NULL },
    { &qapi_type_SchemaInfo,
      "{\"name\":\"1\",\"meta-type\":\"object\",\"features\":[\"f\"],\"members\":[],\"tag\":\"t\","
      "\"variants\":[{\"case\":\"a\",\"type\":\"2\"}]}", NULL },
    { &qapi_type_SchemaInfo, "{\"name\":\"x\",\"json-type\":\"int\"}", "! Parameter 'meta-type' is missing" },
    { &qapi_type_SchemaInfo, "{\"name\":\"x\",\"meta-type\":\"builtin\"}", "! Parameter 'json-type' is missing" },
    { &qapi_type_SchemaInfo,
      "{\"name\":\"x\",\"meta-type\":\"event\",\"arg-type\":\"0\",\"ret-type\":\"1\"}",
      "! Parameter 'ret-type' is unexpected" },
};

START_TEST(values_cross_the_border)
{
    const Case *c = &cases[_i];
    g_autofree char *got = round_trip(c->type, c->in);

    ck_assert_str_eq(got, c->out ? c->out : c->in);
}
END_TEST

START_TEST(commands_are_sorted_and_found)
{
    for (const QapiCommand *cmd = qapi_commands; cmd->name; cmd++) {
        ck_assert_ptr_eq(qapi_command_find(cmd->name), cmd);
        ck_assert(!cmd[1].name || strcmp(cmd->name, cmd[1].name) < 0);
    }
    ck_assert_ptr_null(qapi_command_find("nope"));
}
END_TEST

START_TEST(a_command_runs_on_judged_arguments)
{
    json_object *args = json_tokener_parse("{\"option\":\"overcommit\"}"), *none = json_object_new_object(), *got;
    g_autoptr(Error) err = NULL;

    got = qapi_command_run(qapi_command_find("query-command-line-options"), NULL, args, NULL);
    ck_assert_uint_eq(json_object_array_length(got), 1);
    json_object_put(got);
    json_object_put(args);
    ck_assert_ptr_null(qapi_command_run(qapi_command_find("qom-list"), NULL, none, &err));
    ck_assert_str_eq(error_text(err), "Parameter 'path' is missing");
    json_object_put(none);
    got = qapi_command_run(qapi_command_find("query-version"), NULL, NULL, NULL);
    ck_assert(json_object_object_get_ex(got, "package", NULL));
    json_object_put(got);
}
END_TEST

START_TEST(the_schema_describes_itself)
{
    json_object *schema = json_tokener_parse(qapi_schema_json);
    size_t commands = 0, known = 0;
    QapiList list = { 0 };
    Error *err = NULL;

    qapi_from_json(&qapi_list_SchemaInfo, schema, &list, &err);
    ck_assert_msg(!err, "%s", err ? error_text(err) : "");
    for (size_t i = 0; i < list.n; i++) {
        commands += ((QapiSchemaInfo *)list.items)[i].meta_type == QAPI_SCHEMA_META_TYPE_COMMAND;
    }
    while (qapi_commands[known].name) {
        known++;
    }
    ck_assert_uint_eq(commands, known);
    qapi_clear(&qapi_list_SchemaInfo, &list);
    json_object_put(schema);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("qapi");
    TCase *tc = tcase_create("qapi");
    SRunner *sr;
    int failed;

    tcase_add_loop_test(tc, values_cross_the_border, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tc, commands_are_sorted_and_found);
    tcase_add_test(tc, a_command_runs_on_judged_arguments);
    tcase_add_test(tc, the_schema_describes_itself);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
