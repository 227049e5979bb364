/** How this program is started again. */
import { devNull } from 'node:os'

/** Whether this program is one file, with its runtime in it. */
export const isCompiled = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main)

/** What keeps Bun from the settings of the folder that it is started in: a repository could have it run code, or call another server. */
export const bunFlags: readonly string[] = [`--config=${devNull}`, '--no-env-file']

/** The command of this program by absolute paths: the binary, or Bun and the file that it runs. */
export const ownCommand = (file = Bun.main): string[] =>
  isCompiled ? [process.execPath] : [process.execPath, ...bunFlags, file]
