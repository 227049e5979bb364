/** Starts threads by the path of their script, from the source tree and from a compiled binary alike. */

// In a binary the modules are at the root of the build, and each script is an entry below it.
const root = new URL(import.meta.url.endsWith('/core/thread.ts') ? '../' : './', import.meta.url)

/** @param script path below `src/`; the build takes every file whose name ends with `worker.ts` into the binary */
export const startThread = (script: `${string}worker.ts`): Worker => new Worker(new URL(script, root))
