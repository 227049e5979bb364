/** Which commits decide something, read from their messages alone: most are work on something that was decided before. */

export interface CommitGiven {
  /** The message: subject, and after a blank line the body. */
  message: string
  /** Names of dependencies that its manifests gained and lost, if known. */
  dependencies?: { added: readonly string[]; removed: readonly string[] }
  /** Paths of changed files, if known. */
  files?: readonly string[]
}

export const decidingKinds = ['revert', 'breaking', 'choice', 'dependency', 'record', 'migration', 'design'] as const
/**
 * Why a commit decides something: it takes another back, breaks what others rely on, chooses between things, changes what the project depends
 * on, adds a decision record, changes stored data, or is of a conventional type that is about how things are built.
 */
export type DecidingKind = (typeof decidingKinds)[number]

export interface DecidingCommit {
  kind: DecidingKind
  /** What was decided: the subject without type and number, or that of the pull request that a merge names. */
  title: string
  body: string
  /** Conventional type and scope, in lower case; null if the subject has none. */
  type: string | null
  scope: string | null
  /** Number of the pull request in the subject. */
  pr: number | null
  /** Hash that a revert names, as written; null if it names none. */
  reverts: string | null
}

const maxMessage = 20_000
const maxTitle = 200

/** Types of conventional commits that are about how something is built. */
const designTypes = new Set(['refactor', 'build', 'ci', 'perf'])
/** Types whose commits decide nothing but by breaking something. */
const routineTypes = new Set(
  'docs doc test tests style lint typo fmt format release changelog readme wip fixup squash i18n l10n example examples sync vendor'.split(
    ' ',
  ),
)

/** `type(scope)!: rest`; in other projects the type is the name of a part. */
const prefixed = /^([\w./@-]{1,40})(?:\(([^()]{1,60})\))?(!)?: +(.+)$/
const numbered = /\(#(\d{1,9})\)$/
const mergedPull = /^Merge pull request #(\d{1,9}) from /
const otherMerge = /^Merge (?:branch|remote-tracking branch|tag|commit|[0-9a-f]{7})/i
const breakingFooter = /^BREAKING[ -]CHANGE: /m
/** A revert says so in its subject: text in a body can be a quotation. */
const revertSubject = /^(?:revert|reapply) ["“]|^revert:? /i
const revertedHash = /^This reverts commit ([0-9a-f]{7,64})\b/m

/** Verbs come first: elsewhere, such words describe how something behaves. */
const choices: readonly RegExp[] = [
  /^(?:re-?)?(?:us|prefer|run|stor|call|writ|read|send|keep|build|generat|ship|tak|mak|mov|migrat|switch|bas|serv|return|choos|load)[a-z]{0,4}\b.* (?:instead of|rather than|in favou?r of|over) \S/i,
  /^(?:replac|substitut)[a-z]{0,4}\b.* (?:with|by) \S/i,
  /^(?:switch|migrat|convert|port)(?:e|ed|es|s|ing)?\b.* (?:to|from|off|onto|away) \S|^mov(?:e|ed|es|ing) (?:to|from|off|away)\b/i,
  /^(?:drop|deprecat|pin|unpin|adopt)[a-z]{0,4}\b \S/i,
  /^(?:remove|removed|end|stop) support (?:for|of)\b|^(?:no longer|stop|stopped) (?:us|support|requir|allow|rely|ship|depend)/i,
  /^(?:standardi[sz]e|standardi[sz]ed|settle|settled) on\b|^(?:default|defaults) to\b|^(?:enabl|disabl|add|mak|us)[a-z]{0,4}\b.* (?:by default|the default|as default)\b/i,
]

/** Work that chooses nothing, whatever its verb. */
const routine: readonly RegExp[] = [
  /^(?:wip|fixup!|squash!|amend!|typos?\b|tweaks?\b|nits?\b|bump|release|prepare|version \d|v?\d+\.\d+)/i,
  /^(?:upgrade|update|updates|updated|lock|chore)\b.*\b(?:dep|deps|dependency|dependencies|lock ?file|version|versions|submodules?|snapshots?|digest|changelog|readme|docs|to v?\d)/i,
  /^(?:fix|fixes|fixed|repair|correct|improve|test|tests|add tests?|add missing|format|reformat|lint|clean|tidy|polish|rename|reorder|sort|simplify|minor|small|misc|various|more|cosmetic|typecheck|restore|resolve)\b/i,
  /\b(?:typos?|whitespace|indentation|unused|dead code|obsolete|duplicated?|duplication|leftovers?|stray|redundant|unnecessary|unneeded|comments?|console\.log|debug(?:ging)? (?:code|output|print)|lint(?:er)? (?:errors?|warnings?)|flaky|clean ?ups?|nits?|merge conflicts?|code style|formatting|variable names?|wording)\b/i,
]

const recordFile = /(?:^|\/)(?:adrs?|decisions|architecture-decisions|rfcs?)\/[^/]+\.(?:md|mdx|adoc|rst|ya?ml)$/i
const migrationFile =
  /(?:^|\/)(?:db\/migrate|migrations?|alembic\/versions)\/[^/]+\.(?:sql|py|rb|ts|js|php|go|exs|cs|java)$/i

const isAny = (shapes: readonly RegExp[], text: string): boolean => shapes.some((shape) => shape.test(text))

const named = (names: readonly string[]): string =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')

/** What a change of dependencies decides, for a subject that does not say it. */
function dependencyTitle({ added, removed }: NonNullable<CommitGiven['dependencies']>): string {
  if (added.length === 0) return `Remove ${named(removed)}`
  return removed.length === 0 ? `Add ${named(added)}` : `Replace ${named(removed)} with ${named(added)}`
}

/** What a commit decides; null if it decides nothing. Its message is text of anybody who can commit: it is quoted, never followed. */
export function decidingCommit({ message, dependencies, files = [] }: CommitGiven): DecidingCommit | null {
  const lines = message.slice(0, maxMessage).replaceAll('\r', '').split('\n')
  const first = lines.findIndex((line) => line.trim() !== '')
  if (first < 0) return null
  let subject = lines[first]!.trim()
  let body = lines
    .slice(first + 1)
    .join('\n')
    .trim()
  let pr: number | null = null
  const merged = mergedPull.exec(subject)
  if (merged) {
    // GitHub puts the title of the pull request below.
    const [title = '', ...rest] = body.split('\n')
    pr = Number(merged[1])
    subject = title.trim()
    body = rest.join('\n').trim()
  } else if (otherMerge.test(subject)) return null
  const number = numbered.exec(subject)
  if (number) {
    pr = Number(number[1])
    subject = subject.slice(0, number.index).trimEnd()
  }
  const [, name, scope, bang, rest] = prefixed.exec(subject) ?? []
  const type = name?.toLowerCase() ?? null
  const title = (rest ?? subject).trim()
  const found = (kind: DecidingKind, text = title): DecidingCommit => ({
    kind,
    title: text.slice(0, maxTitle).toWellFormed(),
    body,
    type,
    scope: scope?.toLowerCase() ?? null,
    pr,
    reverts: kind === 'revert' ? (revertedHash.exec(body)?.[1] ?? null) : null,
  })
  if (revertSubject.test(subject) || type === 'revert') return found('revert')
  if (bang !== undefined || breakingFooter.test(body)) return found('breaking')
  const isRoutine = title.length < 8 || isAny(routine, title) || (type !== null && routineTypes.has(type))
  if (!isRoutine && isAny(choices, title)) return found('choice')
  if (dependencies !== undefined && dependencies.added.length + dependencies.removed.length > 0)
    return found('dependency', isRoutine ? dependencyTitle(dependencies) : title)
  if (title !== '' && files.some((file) => recordFile.test(file))) return found('record')
  if (isRoutine) return null
  if (files.some((file) => migrationFile.test(file))) return found('migration')
  return type !== null && designTypes.has(type) ? found('design') : null
}
