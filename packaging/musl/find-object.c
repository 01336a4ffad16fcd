// libgcc finds the tables for unwinding with a function of glibc, which musl does not have. In a static program, all tables are in one
// object: the program. `dl_find_object` is as glibc's <dlfcn.h> declares it, for processors with 64 bits.
#include <link.h>

struct dl_find_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    void *eh_frame;
    unsigned long long reserved[7];
};

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

int _dl_find_object(void *address, struct dl_find_object *found)
{
    char *start = (char *)&__ehdr_start;
    if ((char *)address < start || (char *)address >= _end)
        return -1;
    const ElfW(Phdr) *segment = (const void *)(start + __ehdr_start.e_phoff);
    for (int i = 0; i < __ehdr_start.e_phnum; i++) {
        // The program is made to be loaded anywhere, so its addresses count from its start.
        if (segment[i].p_type == PT_GNU_EH_FRAME) {
            *found = (struct dl_find_object){.start = start, .end = _end, .eh_frame = start + segment[i].p_vaddr};
            return 0;
        }
    }
    return -1;
}
