/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host OS as the process sees it, Windows side; the POSIX side is os-posix.c. The contract is in
 * include/system/os.h: what Windows has no equal of fails with a sentence that says so.
 * Main thread only; the console handler runs on a thread of the system. It uses no glib functions,
 * so that its test links without a glib for Windows. Test: tests/win32/.
 */
#include "system/os.h"

#include <windows.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>

struct OsProcess {
    char *pidfile;          /* while it exists */
    HANDLE pidfile_handle;  /* kept open: nobody else can write or remove the file meanwhile */
};

OsProcess *os_init(void)
{
    OsProcess *p = calloc(1, sizeof(*p));

    if (!p) {
        abort();
    }
    p->pidfile_handle = INVALID_HANDLE_VALUE;
    /* Standard streams carry bytes of serial ports, not lines of text. */
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX);
    return p;
}

void os_fini(OsProcess *p)
{
    if (!p) {
        return;
    }
    if (p->pidfile_handle != INVALID_HANDLE_VALUE) {
        CloseHandle(p->pidfile_handle);
        DeleteFileA(p->pidfile);
    }
    free(p->pidfile);
    free(p);
}

int os_mlock(bool on_fault)
{
    return -ENOSYS;         /* VirtualLock has neither "all" nor "future" */
}

bool os_daemonize(OsProcess *p, int *parent_status, Error **errp)
{
    error_set(errp, "-daemonize is not available on Windows");
    return false;
}

bool os_daemonize_done(OsProcess *p, bool keep_stderr, Error **errp)
{
    return true;            /* never daemonized */
}

static bool set_win_error(Error **errp, const char *what, const char *path)
{
    char why[256] = "";
    DWORD code = GetLastError();

    FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, why,
                   sizeof(why), NULL);
    why[strcspn(why, "\r\n")] = 0;
    error_set(errp, "%s '%s': %s (error %lu)", what, path, why, code);
    return false;
}

bool os_pidfile_create(OsProcess *p, const char *path, Error **errp)
{
    char text[32];
    DWORD len = snprintf(text, sizeof(text), "%lu\n", GetCurrentProcessId()), done;

    p->pidfile_handle = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_ALWAYS,
                                    FILE_ATTRIBUTE_NORMAL, NULL);
    if (p->pidfile_handle == INVALID_HANDLE_VALUE) {
        return set_win_error(errp, "-pidfile: cannot open", path);
    }
    p->pidfile = _strdup(path);
    if (!WriteFile(p->pidfile_handle, text, len, &done, NULL) || done != len) {
        return set_win_error(errp, "-pidfile: cannot write", path);
    }
    FlushFileBuffers(p->pidfile_handle);
    return true;
}

bool os_user_parse(const char *text, OsUser *user, Error **errp)
{
    error_set(errp, "changing to user '%s' is not available on Windows", text);
    return false;
}

bool os_become_user(const OsUser *user, Error **errp)
{
    error_set(errp, "changing the user is not available on Windows");
    return false;
}

bool os_change_root(const char *dir, Error **errp)
{
    error_set(errp, "a root folder of its own ('%s') is not available on Windows", dir);
    return false;
}

bool os_async_teardown(Error **errp)
{
    error_set(errp, "async-teardown is not available on Windows");
    return false;
}

void os_set_process_name(const char *name)
{
    SetConsoleTitleA(name);
}

typedef HRESULT WINAPI SetThreadDescriptionFn(HANDLE thread, PCWSTR name);

void os_set_thread_name(const char *name)
{
    /* Windows 10 and newer. */
    HMODULE kernel = GetModuleHandleA("kernel32.dll");
    SetThreadDescriptionFn *set = (SetThreadDescriptionFn *)(void *)
        GetProcAddress(kernel, "SetThreadDescription");
    WCHAR wide[64];

    if (set && MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, 64)) {
        set(GetCurrentThread(), wide);
    }
}

static OsSignalFn *signal_fn;      /* a console handler has no argument of its own */

static BOOL WINAPI console_handle(DWORD event)
{
    switch (event) {
    case CTRL_C_EVENT:
        signal_fn(SIGINT, 0);
        return TRUE;
    case CTRL_BREAK_EVENT:
    case CTRL_CLOSE_EVENT:
    case CTRL_LOGOFF_EVENT:
    case CTRL_SHUTDOWN_EVENT:
        signal_fn(SIGTERM, 0);
        return TRUE;
    }
    return FALSE;
}

void os_catch_signals(OsSignalFn *fn)
{
    signal_fn = fn;
    SetConsoleCtrlHandler(console_handle, TRUE);
}

char *os_process_name_of(int pid)
{
    HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32 entry = { .dwSize = sizeof(entry) };
    char *name = NULL;

    if (pid > 0 && list != INVALID_HANDLE_VALUE && Process32First(list, &entry)) {
        do {
            if (entry.th32ProcessID == (DWORD)pid) {
                name = _strdup(entry.szExeFile);
            }
        } while (!name && Process32Next(list, &entry));
    }
    if (list != INVALID_HANDLE_VALUE) {
        CloseHandle(list);
    }
    return name;
}
