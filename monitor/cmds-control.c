/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP handlers about the conversation and the emulator itself (qapi/control.json).
 * Main loop thread, machine lock. Test: tests/monitor/qmp.py.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "monitor/monitor-int.h"
#include "system/cleat-version.h"
#include "system/options.h"
#include "system/runstate.h"

bool qmp_query_version(QapiVersionInfo *ret, Error **errp)
{
    int major = 0, minor = 0, micro = 0;

    sscanf(CLEAT_QEMU_VERSION, "%d.%d.%d", &major, &minor, &micro);
    ret->qemu = (QapiVersionTriple){ major, minor, micro };
    ret->package = g_strdup("cleat-" CLEAT_VERSION);
    return true;
}

bool qmp_query_commands(QapiList *ret, Error **errp)
{
    for (const QapiCommand *cmd = qapi_commands; cmd->name; cmd++) {
        QapiCommandInfo *info = qapi_list_add(ret, &qapi_list_CommandInfo);

        info->name = g_strdup(cmd->name);
    }
    return true;
}

bool qmp_query_qmp_schema(QapiList *ret, Error **errp)
{
    json_object *all = json_tokener_parse(qapi_schema_json);

    for (size_t i = 0; i < json_object_array_length(all); i++) {
        json_object **item = qapi_list_add(ret, &qapi_list_any);

        *item = json_object_get(json_object_array_get_idx(all, i));
    }
    json_object_put(all);
    return true;
}

static void add_parameters(QapiList *list, const KeyRow *key)
{
    static const QapiCommandLineParameterType types[] = {
        [KEY_STRING] = QAPI_COMMAND_LINE_PARAMETER_TYPE_STRING,
        [KEY_BOOL] = QAPI_COMMAND_LINE_PARAMETER_TYPE_BOOLEAN,
        [KEY_UINT] = QAPI_COMMAND_LINE_PARAMETER_TYPE_NUMBER,
        [KEY_INT] = QAPI_COMMAND_LINE_PARAMETER_TYPE_NUMBER,
        [KEY_SIZE] = QAPI_COMMAND_LINE_PARAMETER_TYPE_SIZE,
        [KEY_WORD] = QAPI_COMMAND_LINE_PARAMETER_TYPE_STRING,
    };

    for (; key && key->name; key++) {
        QapiCommandLineParameterInfo *info = qapi_list_add(list, &qapi_list_CommandLineParameterInfo);

        info->name = g_strdup(key->name);
        info->type = types[key->type];
    }
}

/* Only what works: an option that waits for its part is no option for a management tool. */
bool qmp_query_command_line_options(const QapiQueryCommandLineOptionsArg *args, QapiList *ret, Error **errp)
{
    const OptionRow *row;

    for (int i = 0; (row = option_row(i)); i++) {
        QapiCommandLineOptionInfo *info;

        if (row->form < OPTION_FLAT || !row->set || (args->option && strcmp(args->option, row->name))) {
            continue;
        }
        info = qapi_list_add(ret, &qapi_list_CommandLineOptionInfo);
        info->option = g_strdup(row->name);
        add_parameters(&info->parameters, row->keys);
    }
    if (args->option && !ret->n) {
        error_set(errp, "invalid option name: %s", args->option);
        return false;
    }
    return true;
}

bool qmp_quit(Error **errp)
{
    system_shutdown_request(SHUTDOWN_HOST_QMP_QUIT);
    return true;
}
