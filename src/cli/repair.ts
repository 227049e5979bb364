/** cstp repair: puts back what a data folder lost, from what it still has. */
import { defineCommand, toggle } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { plural, print } from './terminal.ts'

export const repair = defineCommand({
  name: 'repair',
  summary: 'Write lost decision files again from the database.',
  about: [
    'For a data folder whose decisions/ is gone while cstp.db is there: no server starts on it. Every decision without a file gets one again, also those that were hidden because somebody removed their files.',
    'cstp doctor says what is lost. Files that exist are not changed.',
  ],
  flags: { files: toggle('Write the files of decisions that have none.') },
  examples: [['cstp repair --files', 'after decisions/ was deleted']],
  async run({ flags, json, terminal, configuration }) {
    if (!flags.files) throw misuse('cstp repair needs --files, which names what to repair')
    const { settings } = await configuration()
    if (settings.store_url !== null)
      throw new Failure('the settings name PostgreSQL (CSTP_STORE_URL): its decisions have no files')
    const { repairFiles } = await import('../app/repair.ts')
    const written = await repairFiles(settings)
    await print({ json, terminal }, { written }, () => `${plural(written, 'file')} written to decisions/\n`)
  },
})
