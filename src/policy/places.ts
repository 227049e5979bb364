/** Where rules are: the places of the settings, and the folder `guardrails` of the data folder. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RulePack } from '../domain/policy/rules/packs.ts'

/** Represents the shipped rules among the places of rules. */
export const shipped = 'shipped'

/** Paths of the rule files directly in a directory, in order, without table tests. */
export async function ruleFilesIn(directory: string): Promise<string[]> {
  return (await readdir(directory, { withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && /\.ya?ml$/.test(entry.name) && !/\.test\.ya?ml$/.test(entry.name))
    .map(({ name }) => join(directory, name))
    .sort()
}

export interface Packs {
  packs?: readonly RulePack[]
  /** Which of the places and packs are those of the service, in a workspace. */
  inherited?: { readonly guardrails_paths: readonly string[]; readonly packs: readonly RulePack[] }
  /** Its folder `guardrails`, if there is one, is the last place. */
  data_dir?: string
  /** What hooks keep of prompts. */
  hook_prompts?: 'text' | 'digest'
}

/** How often files are looked at. */
export const checkMs = 2_000

/** The folder of rules in a data folder. */
export const ownPlace = ({ data_dir }: Packs): string[] =>
  data_dir === undefined ? [] : [join(data_dir, 'guardrails')]

/** Changes when a file of the places does: names, sizes and times. */
export async function stampOf(places: readonly string[]): Promise<string> {
  const stamps = places.map(async (place) => {
    if (place === shipped) return place
    const files = await ruleFilesIn(place).catch(() => [place])
    const found = await Promise.all(files.map((file) => stat(file).catch(() => null)))
    return files.map((file, at) => `${file} ${found[at]?.size} ${found[at]?.mtimeMs} ${found[at]?.ino}`).join('\n')
  })
  return (await Promise.all(stamps)).join('\n\n')
}
