/** Problems that publint and "are the types wrong" find in a packed package. */
import { type CheckResult, checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/** The package is ESM only: it does not promise to resolve with `require` or with resolvers that predate `exports`. */
const unpromised: readonly string[] = ['node10', 'node16-cjs']

const typeProblems = (result: CheckResult): string[] =>
  result.types === false
    ? []
    : result.problems.flatMap((one) => {
        const resolution = 'resolutionKind' in one ? one.resolutionKind : null
        const where = 'entrypoint' in one ? ` ${one.entrypoint}` : ''
        return resolution !== null && unpromised.includes(resolution) ? [] : [`${one.kind}${where} ${resolution ?? ''}`]
      })

/** One line for each problem in a tarball; none if it may be published. */
export async function packageProblems(tarball: string): Promise<string[]> {
  const bytes = await Bun.file(tarball).bytes()
  const { messages, pkg } = await publint({ pack: { tarball: bytes.slice().buffer }, strict: true })
  const lines = messages.map((one) => `${one.type} ${one.code}: ${formatMessage(one, pkg, { color: false }) ?? ''}`)
  return [...lines, ...typeProblems(await checkPackage(createPackageFromTarballData(bytes)))]
}
