/** Conditions of rules: on a field, on commands, on past decisions, on the clock, in CEL, and joined. */
import * as v from 'valibot'
import { fraction, nonEmptyText, Outcome } from './decision.ts'

const d = v.description
const positive = v.pipe(v.number(), v.finite('a number'), v.gtValue(0, 'a number above 0'))
const count = v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1'))
const name = nonEmptyText(256)

/** Every operator of a field condition. */
export const operators = ['<', '<=', '>', '>=', '=', '==', '!=', 'in', 'not_in', 'contains', 'exists'] as const
/** Operator of a field condition. */
export type Operator = (typeof operators)[number]
/** The operators that compare numbers. */
export const comparisons = ['<', '<=', '>', '>=', '=', '==', '!='] as const

/** A value that a field can be compared with. */
const Scalar = v.union([v.string(), v.pipe(v.number(), v.finite('a number')), v.boolean()])

/** Compares one field of the action or of its context. */
export const FieldCondition = v.strictObject({
  type: v.literal('field'),
  field: v.pipe(
    name,
    d(
      'Field of the action; `context.<key>` for its context. A bare name that is not a field of the action is looked up in the context.',
    ),
  ),
  operator: v.pipe(v.picklist(operators), d('How it is compared.')),
  value: v.optional(
    v.pipe(v.union([Scalar, v.array(Scalar)]), d('The value to compare with; a list for `in` and `not_in`.')),
  ),
  exact: v.optional(
    v.pipe(
      v.boolean(),
      d('Compares text exactly. By default, case, compatibility forms and look-alike letters are ignored.'),
    ),
  ),
  when_missing: v.optional(
    v.pipe(
      v.picklist(['match', 'no_match']),
      d(
        'The result if the field is absent; by default `match` for context fields in a rule that blocks, otherwise `no_match`.',
      ),
    ),
  ),
  min_decisions: v.optional(
    v.pipe(
      count,
      d(
        'For `precedents.failed` and `calibration.gap`: with fewer decisions the action is deferred, because the figure is not reliable.',
      ),
    ),
  ),
})

/** Looks for past decisions with a similar meaning. */
export const SemanticCondition = v.strictObject({
  type: v.literal('semantic'),
  threshold: v.pipe(
    v.union([fraction, v.literal('auto')]),
    d(
      'Minimum similarity (1 − cosine distance) of a past decision to the description; `auto` is the value measured for the embedder in use.',
    ),
  ),
  outcome: v.optional(v.pipe(Outcome, d('Only past decisions with this outcome.'))),
  within_days: v.optional(v.pipe(positive, d('Only decisions of the last N days.'))),
  min_matches: v.pipe(v.optional(count, 1), d('Minimum number of decisions with this similarity.')),
})

/** Fields of recorded decisions that a temporal condition can count by. */
const countedFields = ['category', 'stakes', 'status', 'outcome', 'project', 'feature', 'agent', 'tag'] as const

const clock = v.pipe(v.string(), v.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day such as 22:00'))
/** Days of the week as a clock condition names them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Counts recorded decisions within a window, or tests the clock. */
export const TemporalCondition = v.strictObject({
  type: v.literal('temporal'),
  field: v.optional(v.pipe(v.picklist(countedFields), d('Count recorded decisions by this field …'))),
  value: v.optional(v.pipe(name, d('… with this value …'))),
  window_hours: v.optional(v.pipe(positive, d('… recorded within this many hours.'))),
  max_occurrences: v.optional(v.pipe(count, d('True if at least this many match.'))),
  between: v.optional(v.pipe(v.tuple([clock, clock]), d('Times of day, start included; the span may cross midnight.'))),
  weekdays: v.optional(
    v.pipe(v.array(v.picklist(weekdays)), v.minLength(1, 'at least one day'), d('Days of the week.')),
  ),
  timezone: v.optional(
    v.pipe(
      name,
      v.check(isTimezone, 'an IANA time zone such as Europe/Berlin'),
      d('Time zone of the clock; by default UTC.'),
    ),
  ),
})

function isTimezone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** Figures that an aggregate condition compares. */
export const metrics = ['success_rate', 'avg_confidence', 'count', 'brier'] as const

/** Compares a figure over past decisions. */
export const AggregateCondition = v.strictObject({
  type: v.literal('aggregate'),
  category: v.optional(v.pipe(name, d('Decisions of this category; by default of all.'))),
  metric: v.pipe(v.picklist(metrics), d('The figure; rates and scores are between 0 and 1.')),
  operator: v.pipe(v.picklist(comparisons), d('How the figure is compared.')),
  value: v.pipe(v.number(), v.finite('a number'), d('The value to compare with.')),
  min_decisions: v.optional(
    v.pipe(count, d('With fewer decisions the condition is false; by default 1, for `count` 0.')),
  ),
  window_days: v.optional(v.pipe(positive, d('Only decisions of the last N days.'))),
})

/** An expression in the Common Expression Language. */
export const CelCondition = v.strictObject({
  type: v.literal('cel'),
  expression: v.pipe(
    nonEmptyText(4_000),
    d('A CEL expression over `action`, `command`, `edit`, `sql` and `url`; the condition holds if it is true.'),
  ),
})

/** Where a path is, or what it is. One path has one class: the first of these that applies; `hidden` is a path that a line makes by decoding. */
export const pathClasses = [
  'guard',
  'secret',
  'vcs',
  'root',
  'temp',
  'inside_project',
  'home',
  'system',
  'hidden',
] as const
/** Where a path is, or what it is. */
export type PathClass = (typeof pathClasses)[number]

/** What a command does to a path. `overwrite` empties it first; `send` passes its content to another machine. */
export const accesses = ['read', 'write', 'overwrite', 'delete', 'permissions', 'send'] as const
/** What a command does to a path. */
export type Access = (typeof accesses)[number]

/** Where the code that a shell or an interpreter runs comes from. */
export const codeSources = ['text', 'file', 'download', 'decoded', 'output'] as const
/** Where the code that a shell or an interpreter runs comes from. */
export type CodeSource = (typeof codeSources)[number]

const oneOrMore = <T extends v.GenericSchema>(one: T) =>
  v.union([one, v.pipe(v.array(one), v.minLength(1, 'at least one'))])
const flag = v.pipe(v.string(), v.regex(/^[-+/][^\s]{0,100}$/, 'an option such as -f or --force'))
const flagList = v.optional(v.pipe(v.array(flag), v.minLength(1, 'at least one option')))

/** Compares one program that a command runs, as its line is understood. */
export const CommandCondition = v.strictObject({
  type: v.literal('command'),
  program: v.optional(
    v.pipe(
      oneOrMore(name),
      d('Name of the program without folders, or one of several; `*` at its end stands for any rest.'),
    ),
  ),
  subcommand: v.optional(
    v.pipe(
      oneOrMore(name),
      d('Leading words that are not options, such as `stash drop`; `*` stands for one word, `**` for any number.'),
    ),
  ),
  flags: v.optional(
    v.pipe(
      v.strictObject({
        any: v.pipe(flagList, d('At least one of these options; short and long spellings are the same.')),
        all: v.pipe(flagList, d('All of these options.')),
        none: v.pipe(flagList, d('None of these options.')),
      }),
      d('Options of the program.'),
    ),
  ),
  targets: v.optional(
    v.pipe(
      v.strictObject({
        class: v.optional(v.pipe(oneOrMore(v.picklist(pathClasses)), d('Class of the path.'))),
        access: v.optional(v.pipe(oneOrMore(v.picklist(accesses)), d('What is done to it; by default anything.'))),
        outside: v.optional(v.pipe(v.boolean(), d('Neither inside the project nor temporary.'))),
        whole: v.optional(
          v.pipe(
            v.boolean(),
            d('All of the project, of a home folder, of a file system or of one of its main folders.'),
          ),
        ),
        recursive: v.optional(v.pipe(v.boolean(), d('With everything below it.'))),
      }),
      d('At least one path meets all of these.'),
    ),
  ),
  code_from: v.optional(
    v.pipe(oneOrMore(v.picklist(codeSources)), d('Where the code comes from that a shell or an interpreter runs.')),
  ),
  opaque: v.optional(v.pipe(v.boolean(), d('Whether its name, or the code that it runs, is only known at run time.'))),
})

/** Compares one program that a command runs, as its line is understood. */
export type CommandCondition = v.InferOutput<typeof CommandCondition>
/** Compares one field of the action or of its context. */
export type FieldCondition = v.InferOutput<typeof FieldCondition>
/** Looks for past decisions with a similar meaning. */
export type SemanticCondition = v.InferOutput<typeof SemanticCondition>
/** Counts recorded decisions within a window, or tests the clock. */
export type TemporalCondition = v.InferOutput<typeof TemporalCondition>
/** Compares a figure over past decisions. */
export type AggregateCondition = v.InferOutput<typeof AggregateCondition>
/** An expression in the Common Expression Language. */
export type CelCondition = v.InferOutput<typeof CelCondition>
/** Joins conditions with and, or, or not. */
export interface CompoundCondition {
  type: 'compound'
  operator: 'and' | 'or' | 'not'
  conditions: Condition[]
}
/** One condition of any kind. */
export type Condition =
  | FieldCondition
  | SemanticCondition
  | TemporalCondition
  | AggregateCondition
  | CelCondition
  | CommandCondition
  | CompoundCondition

/** Joins conditions with and, or, or not. */
export const CompoundCondition = v.strictObject({
  type: v.literal('compound'),
  operator: v.pipe(v.picklist(['and', 'or', 'not']), d('`not` takes exactly one condition.')),
  conditions: v.pipe(
    v.array(v.lazy((): v.GenericSchema<unknown, Condition> => Condition as never)),
    v.minLength(1, 'at least one condition'),
  ),
})

/** One condition of any kind. */
export const Condition = v.variant('type', [
  FieldCondition,
  SemanticCondition,
  TemporalCondition,
  AggregateCondition,
  CelCondition,
  CommandCondition,
  CompoundCondition,
])
