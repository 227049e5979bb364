/**
 * The transcripts in `cases/*.yaml`: what is called and what is answered, whatever carries it.
 *
 * A file has the `method` that its steps call where they name no other, and `cases`. A case has a `name`, perhaps `rules` (guardrails as
 * YAML that are in force), and `steps`:
 *
 * - `call` (else the file's method), `as` (else alice), `params`, and `result` or `error`. `save: {name: path}` keeps parts of the
 *   result; `$name` stands for them in later steps, `$name[0:8]` for a part of their text.
 * - `pass`: days, hours or minutes that go by, such as `8d`.
 * - `embedder`: `up` or `away`, from here on.
 * - `merged`: number, perhaps title and text of a pull request that GitHub's webhook reports as merged.
 *
 * Expected values are exact, save words in angle brackets: `<id> <record> <time> <day> <hash> <text> <number> <boolean> <any>`,
 * `<0.5 ± 0.01>`, `</regular expression/>`. A key or a last entry `...` allows more. `bun test/wire/record.ts <file>` fills in what is answered where a step
 * says neither result nor error; what it writes is what is, and has to be read by somebody who knows what should be.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { parse } from 'yaml'
import { codes } from '../../sdk/errors.ts'
import { callers } from '../support/program.ts'

const Caller = v.picklist(Object.keys(callers) as (keyof typeof callers)[])
const CallStep = v.pipe(
  v.strictObject({
    call: v.optional(v.string()),
    as: v.optional(Caller, 'alice'),
    params: v.optional(v.unknown(), () => ({})),
    result: v.optional(v.unknown()),
    error: v.optional(
      v.strictObject({
        error: v.picklist(Object.keys(codes) as (keyof typeof codes)[]),
        message: v.string(),
        data: v.optional(v.unknown()),
      }),
    ),
    save: v.optional(v.record(v.string(), v.string())),
  }),
  v.check(({ result, error }) => (result === undefined) !== (error === undefined), 'a step has a result or an error'),
)
const Step = v.union([
  v.strictObject({ pass: v.pipe(v.string(), v.regex(/^\d+[dhm]$/)) }),
  v.strictObject({ embedder: v.picklist(['up', 'away']) }),
  v.strictObject({
    merged: v.strictObject({ number: v.number(), title: v.optional(v.string()), body: v.optional(v.string()) }),
  }),
  CallStep,
])
const Case = v.strictObject({ name: v.string(), rules: v.optional(v.string()), steps: v.array(Step) })
const File = v.strictObject({ method: v.string(), cases: v.array(Case) })

export type CallStep = v.InferOutput<typeof CallStep>
export type Step = v.InferOutput<typeof Step>
export interface WireCase extends v.InferOutput<typeof Case> {
  /** Name of the method that steps call where they name no other, without `cstp.`. */
  method: string
}

const folder = join(import.meta.dir, 'cases')

/** Every case of the corpus. @throws where a file is not of this form */
export async function wireCases(): Promise<WireCase[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml')).sort()
  const read = files.map(async (file) => {
    const parsed = v.safeParse(File, parse(await readFile(join(folder, file), 'utf8')))
    if (!parsed.success) throw new Error(`${file}: ${JSON.stringify(v.flatten(parsed.issues))}`)
    const { method, cases } = parsed.output
    return cases.map((one) => ({ ...one, method }))
  })
  return (await Promise.all(read)).flat()
}
