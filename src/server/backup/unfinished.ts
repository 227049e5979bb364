/** The mark of a restore into a folder that was there already: while it stands, the folder holds a part of the data. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const unfinished = '.restoring'

/** @throws Error where a restore was cut off: a server that started on a part would take the rest for deleted */
export function refuseUnfinished(data_dir: string): void {
  if (existsSync(join(data_dir, unfinished)))
    throw new Error(`a restore into ${data_dir} was cut off: empty the folder and run cstp restore again`)
}
