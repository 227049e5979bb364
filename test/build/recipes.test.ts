/** The action for workflows and the recipe of the image: their steps run, and their versions are those of this repository. */
import { expect, test } from 'bun:test'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, inTemporaryDir, root, run } from '../support/process.ts'

interface Action {
  inputs: Record<string, { default: string }>
  runs: { steps: { name: string; if: string; env: Record<string, string>; run: string }[] }
}

testNeeding('bash', 'the steps of the action pass good guardrails, and fail wrong ones and a bundle that is none', () =>
  inTemporaryDir(async (dir) => {
    const action: Action = parse(await Bun.file(join(root, '.github/actions/cstp/action.yml')).text())
    const bun = (await Bun.file(join(root, 'package.json')).json()).devDependencies.bun
    expect(action.runs.steps[0]?.run).toContain(`npx -y bun@${bun} install --frozen-lockfile`)
    const step = async (name: string, inputs: Record<string, string>) => {
      const found = action.runs.steps.find((one) => one.name === name)!
      const env = Object.fromEntries(
        Object.entries(found.env).map(([key, value]) => [
          key,
          value.replace(/\$\{\{ inputs\.(\w+) \}\}/, (_, one) => inputs[one] ?? action.inputs[one]!.default),
        ]),
      )
      return run(['bash', '-e', '-o', 'pipefail', '-c', found.run], {
        cwd: dir,
        env: { ...bareEnv(dir), ...env, GITHUB_ACTION_PATH: join(root, '.github/actions/cstp') },
      })
    }
    await cp(join(root, 'guardrails'), join(dir, 'rules'), { recursive: true })
    expect(await step('Test the guardrails', { guardrails: 'rules' })).toMatchObject({ status: 0 })
    await writeFile(join(dir, 'wrong.yaml'), '- id: x\n  action: nonsense\n')
    expect((await step('Test the guardrails', { guardrails: 'wrong.yaml' })).status).not.toBe(0)
    await writeFile(join(dir, 'bundle.json'), '{}')
    expect((await step('Verify the bundle', { bundle: 'bundle.json' })).status).not.toBe(0)
  }),
)

test('the recipe of the image builds with the Bun of this repository', async () => {
  const recipe = await Bun.file(join(root, 'docs/deploy/Dockerfile')).text()
  const { devDependencies, scripts } = await Bun.file(join(root, 'package.json')).json()
  expect(recipe).toContain(`bun@${devDependencies.bun} install --frozen-lockfile`)
  expect(scripts.build).toBe('bun src/build/main.ts')
  expect(recipe).toMatch(/\nUSER 10001\n[\s\S]*CMD \["serve"\]/)
})
