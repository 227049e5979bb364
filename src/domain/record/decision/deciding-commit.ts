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
 * on, adds a decision record, changes stored data, or is of a conventional type that is about how things are built and does not only add or tidy.
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
/** Characters of a body in which a reason is looked for. */
const maxReason = 1_000

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
const otherMerge = /^Merge (?:(?:branch|remote-tracking branch|tag|commit|[0-9a-f]{7})|\S{1,80} (?:in\b|into\b|->))/i
const breakingFooter = /^BREAKING[ -]CHANGE: /m
/** A revert says so in its subject: text in a body can be a quotation. */
const revertTitle =
  /^(?:partial(?:ly)? )?(?:revert|undo|reapply|reland|roll ?back|back ?out)(?:s|ed|ing)?\b|^(?:undid|rolled back|backed out)\b/i
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
  /^(?:wip|fixup!|lock ?file|squash!|amend!|typos?\b|tweaks?\b|nits?\b|bump|release|prepare|version \d|v?\d+\.\d+)/i,
  /^(?:upgrade|update|updates|updated|lock|chore)\b.*\b(?:dep|deps|dependency|dependencies|lock ?file|version|versions|submodules?|snapshots?|digest|changelog|readme|docs|to v?\d)/i,
  /^(?:fix|fixes|fixed|deflake|repair|correct|improve|test|tests|add tests?|add missing|format|re-?format|align|properly|unit tests?|lint|clean|tidy|polish|rename|reorder|sort|simplify|minor|small|misc|various|more|cosmetic|typecheck|restore|resolve)\b/i,
  /\b(?:(?:not|never|is ?n.t|are ?n.t|does ?n.t|do ?n.t|was ?n.t) (?:being |properly |correctly |always )?(?:work|show|[a-z]+ing\b|exposed|called|set|found|applied|updated)|workaround|correctly|broken|resolves?|out of date|wrong)\b/i,
  /\b(?:in (?:the )?(?:docs|documentation|readme)$|(?:some|most) (?:[\w-]+ ){0,3}tests\b)/i,
  /\b(?:typos?|whitespace|indentation|unused|dead code|obsolete|duplicated?|duplication|leftovers?|stray|redundant|unnecessary|unneeded|comments?|console\.log|debug(?:ging)? (?:code|output|print)|lint(?:er)? (?:errors?|warnings?)|flaky|clean ?ups?|nits?|merge conflicts?|code style|formatting|variable names?|wording)\b/i,
]

/** Work of a conventional type that decides something only if the body says why: each adds or tidies, as most commits do. */
const weak =
  /^(?:an?|add|address|account|attempt|build|change|changes|configure|copy|create|delete|ensure|expose|extend|extract|handle|implement|import|improve|include|increase|inline|make|merge|move|open|optimi[sz]e|provide|re-?order|reduce|refactor|remove|resolve|rework|set|set ?up|converge|show|speed|split|support|try|unit|wrap|avoid|define|some|simplify)[a-z]{0,2}\b/i
const reason =
  /\b(?:because|since|so that|in order to|instead|rather than|no longer|anymore|allows? us|(?:to|can) (?:avoid|prevent|reduce|allow|catch|support|keep)|avoids|prevents|deprecated|easier|faster|smaller|safer|consistent|reliable|unnecessary|turned out|we (?:decided|chose|want|need|will|should|can|no))\b/i
/** New abilities, which are features under another name. */
const feature =
  /^(?:allow|option|add (?:an? )?(?:support|option|ability|rule|script|command|helper|utilit)|generate|support|expose|show|print)[a-z]{0,3}\b/i
/** A new version is work, but a new major version is a choice. */
const update = /^(?:update|upgrade)[a-z]?\b/i
const majorUpdate = /^(?:update|upgrade)[a-z]? (?:to )?(?:[\w@/.-]+ ){0,2}(?:to )?(?:[\w@/-]+ )?v?\d{1,4}$/i

const recordFile = /(?:^|\/)(?:adrs?|decisions|architecture-decisions|rfcs?)\/[^/]+\.(?:md|mdx|adoc|rst|ya?ml)$/i
const migrationFile =
  /(?:^|\/)(?:db\/migrate|migrations?|alembic\/versions)\/[^/]+\.(?:sql|py|rb|ts|js|php|go|exs|cs|java)$/i

const isAny = (shapes: readonly RegExp[], text: string): boolean => shapes.some((shape) => shape.test(text))

/** More at once is a new layout of manifests, not a choice of what to depend on. */
const maxDependencies = 6

const named = (names: readonly string[]): string =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')

/** What a change of dependencies decides; with the subject, unless it is routine. */
function dependencyTitle({ added, removed }: NonNullable<CommitGiven['dependencies']>, subject: string | null): string {
  const short = (name: string): string => name.slice(name.lastIndexOf('/') + 1).toLowerCase()
  if (subject !== null && [...added, ...removed].some((name) => subject.toLowerCase().includes(short(name))))
    return subject
  const change =
    added.length === 0
      ? `Remove ${named(removed)}`
      : removed.length === 0
        ? `Add ${named(added)}`
        : `Replace ${named(removed)} with ${named(added)}`
  return subject === null ? change : `${change} (${subject})`
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
  if (revertTitle.test(subject) || type === 'revert') return found('revert')
  const isRoutineType = type !== null && routineTypes.has(type)
  if (revertTitle.test(title) && !isRoutineType) return found('revert')
  if (bang !== undefined || breakingFooter.test(body)) return found('breaking')
  const isRoutine = title.length < 8 || isAny(routine, title) || isRoutineType
  if (!isRoutine && isAny(choices, title)) return found('choice')
  const changed = dependencies === undefined ? 0 : dependencies.added.length + dependencies.removed.length
  if (changed > 0 && changed <= maxDependencies)
    return found('dependency', dependencyTitle(dependencies!, isRoutine ? null : title))
  if (title !== '' && files.some((file) => recordFile.test(file))) return found('record')
  if (isRoutine) return null
  if (files.some((file) => migrationFile.test(file))) return found('migration')
  if (type === null || !designTypes.has(type) || feature.test(title)) return null
  if (update.test(title)) return majorUpdate.test(title) ? found('design') : null
  return weak.test(title) && !reason.test(body.slice(0, maxReason)) ? null : found('design')
}
