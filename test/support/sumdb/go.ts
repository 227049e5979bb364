/** Go and its checksum database's libraries, where the tests find them: built once, run as often as needed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../process.ts'

/** Folder with `usr/` of Debian's packages: Go 1.19 and its checksum database's libraries; `.ci/run` makes it. */
const place = process.env.CSTP_GO ?? ''
const goroot = join(place, 'usr/lib/go-1.19')

/** Why tests with Go can't run here; null if they can. */
export const whyNoGo: string | null =
  place !== '' && existsSync(join(place, 'usr/share/gocode/src/golang.org/x/mod'))
    ? null
    : 'CSTP_GO names no folder with Go 1.19 and its libraries'

/** Builds a program. @param source its one file @param target the program @throws what the compiler says */
export async function buildGo(source: string, target: string): Promise<void> {
  const env = {
    ...{ PATH: '/usr/bin:/bin', GOROOT: goroot, GOPATH: join(place, 'usr/share/gocode'), GO111MODULE: 'off' },
    ...{ GOCACHE: join(place, 'cache'), CGO_ENABLED: '0', HOME: place },
  }
  const { status, err } = await run([join(goroot, 'bin/go'), 'build', '-o', target, source], { cwd: place, env })
  if (status !== 0) throw new Error(err)
}
