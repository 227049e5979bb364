#!/usr/bin/env node
/** Starts the program from the package for this platform; without a command, it starts the service. */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'

const machine = `${process.platform}-${process.arch}`
const name = `@cstp/${machine}`
const program = process.platform === 'win32' ? 'cstp.exe' : 'cstp'

function find() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), program)
  } catch {
    console.error(
      `cstp: the package ${name} is not installed. It comes with cstp where npm may install optional packages and there is a build for ${machine}; from a clone of the repository, bun run build makes one.`,
    )
    process.exit(1)
  }
}

const given = process.argv.slice(2)
const child = spawn(find(), given.length === 0 ? ['serve'] : given, { stdio: 'inherit' })
// The program shuts down cleanly on its own; this process exits after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`cstp: ${error.message}`)
  process.exit(1)
})
child.on('exit', (status, signal) => {
  if (signal === null) process.exit(status ?? 1)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
