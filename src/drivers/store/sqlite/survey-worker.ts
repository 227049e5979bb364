/** A thread that compares the files of a large store: a million files take many seconds, so it runs at low priority. */
import { setPriority } from 'node:os'
import { messageOf } from '../../../core/log.ts'
import { connectReader } from '../../shared/sqlite/connect.ts'
import { statementsOf } from './connect.ts'
import { type Looking, type Survey, surveyor } from './survey.ts'

export type SurveyRequest = { database: string; root: string } | { stop: true }
export type SurveyReply = { found: Survey } | { error: string }

declare const self: Worker

/** A quarter of the share of a busy thread: requests that wait for the comparison must not wait forever. */
const niceness = 5

let looking: Looking | undefined

function giveWay(): void {
  // On other systems this would change the priority of the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(0, niceness)
  } catch {
    // Not permitted here.
  }
}

async function look(database: string, root: string): Promise<Survey> {
  giveWay()
  const db = connectReader(database)
  const statements = statementsOf(db)
  try {
    looking = surveyor(statements, root)()
    return await looking.found
  } finally {
    statements.finalize()
    db.close()
  }
}

self.onmessage = async ({ data }: MessageEvent<SurveyRequest>) => {
  if ('stop' in data) looking?.stop()
  else {
    const reply: SurveyReply = await look(data.database, data.root).then(
      (found) => ({ found }),
      (error: unknown) => ({ error: messageOf(error) }),
    )
    self.postMessage(reply)
  }
}
