/** Starts worker threads by the path of their script, from source and from a compiled binary. */

// In a binary, modules are at the root of the build, with each script as an entry below it.
const root = new URL(import.meta.url.endsWith('/core/thread.ts') ? '../' : './', import.meta.url)

/** @param script path below `src/`; the build includes every file whose name ends with `worker.ts` */
export const startThread = (script: `${string}worker.ts`): Worker => new Worker(new URL(script, root))
