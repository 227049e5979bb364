/** The shipped packs of rules about commands, which the setting `packs` puts in force. */

/** Their names; each is a file of rules in `guardrails/packs`. */
export const rulePacks = [
  'irreversible',
  'git',
  'database',
  'cloud',
  'kubernetes',
  'containers',
  'packages',
  'secrets',
  'production',
] as const
export type RulePack = (typeof rulePacks)[number]

/** The pack that clients in guard mode enforce. */
const guarded: RulePack = 'irreversible'

/** The name under which a call is stopped that rules would not judge as it runs. */
export const unjudgedCall = 'unjudged_call'

/** The id of a rule of a repository in verdicts, which no rule of the operator has. */
export const ofProject = (rule: string): string => `project/${rule}`

/** Whether a rule counts in guard mode: one of the pack, also if the operator replaced it, which keeps its id, and one of the repository. */
export const isGuarded = (rule: string): boolean =>
  rule === unjudgedCall || rule.startsWith(`${guarded}.`) || rule.startsWith(ofProject(''))

const folder = 'guardrails/packs/'

/** The name under which the rules of a pack are loaded. */
export const packFile = (pack: RulePack): string => `${folder}${pack}.yaml`
