/** Programs that run another program, and how the inner command is found among their arguments. */

interface Wrapper {
  /** Options that take a value in the next argument. */
  values?: string
  /** Arguments before the inner command. */
  skip?: number
  /** Takes `NAME=value` before the inner command. */
  assigns?: true
  /** The inner command is one text for a shell. */
  shell?: true
  /** Options whose value is a text for a shell. */
  code?: string
  /** Only with this first argument (or one of these), after which the rest is parsed. */
  word?: string
  /** Runs on another machine or in a container: paths are those of that place. */
  elsewhere?: true
  /** The inner command begins after `--`. */
  dashes?: true
  /** Options with which nothing is run. */
  asks?: string
  /** Option that names the folder to run in. */
  folder?: string
}

const w = (values: string, more: Wrapper = {}): Wrapper => ({ values, ...more })

const wrappers: Record<string, Wrapper> = {
  sudo: w(
    '-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T -U -D --chdir -R --chroot',
    { assigns: true, asks: '-l -v -k -K -V --list --validate --version', folder: '-D --chdir' },
  ),
  doas: w('-u -C', { assigns: true }),
  pkexec: w('--user'),
  env: w('-P -u --unset -C --chdir --argv0 -a', { assigns: true, code: '-S --split-string', folder: '-C --chdir' }),
  nice: w('-n --adjustment'),
  ionice: w('-c --class -n --classdata -p -P -u'),
  timeout: w('-s --signal -k --kill-after', { skip: 1 }),
  gtimeout: w('-s --signal -k --kill-after', { skip: 1 }),
  time: w('-f --format -o --output'),
  nohup: {},
  setsid: {},
  stdbuf: w('-i -o -e --input --output --error'),
  command: { asks: '-v -V' },
  builtin: {},
  exec: w('-a'),
  coproc: {},
  busybox: { asks: '--list --help --install' },
  toybox: {},
  watch: w('-n --interval -q --equexit', { shell: true }),
  gdb: w('-ex -x -p', { dashes: true }),
  chroot: w('--userspec --groups', { skip: 1, elsewhere: true }),
  unshare: w('--map-user --map-group --root -R --wd -w --setuid --setgid'),
  nsenter: w('-t --target -r -w -S -G', {}),
  flock: w('-w --wait --timeout -E --conflict-exit-code', { skip: 1, code: '-c --command' }),
  'systemd-run': w(
    '-p --property -u --unit -M --machine -E --setenv --slice --on-active --on-calendar --uid --gid --working-directory',
  ),
  direnv: { word: 'exec', skip: 1 },
  dotenv: w('-e -f -c -v', { dashes: true }),
  npx: w('-p --package -w --workspace --node-options', { code: '-c --call' }),
  bunx: w('-p --package'),
  pnpx: {},
  dlx: {},
  uvx: w('--from --with -p --python'),
  uv: w('--with --python -p --directory --project --env-file --extra --group', { word: 'run' }),
  corepack: { word: 'npm pnpm yarn', skip: 0 },
  'cross-env': { assigns: true },
  'cross-env-shell': { assigns: true, shell: true },
  'nix-shell': w('-p --packages -I', { code: '--run --command' }),
  nix: w('-c --command', { word: 'develop shell run', dashes: true }),
  su: w('-s --shell -g --group -G -w', { code: '-c --command', skip: 99 }),
  runuser: w('-u --user -g --group -s --shell', { code: '-c --command' }),
  sg: w('', { skip: 1, code: '-c' }),
  script: w('-I -O -B -T -m -E -o', { code: '-c --command', skip: 99 }),
  ssh: w('-i -p -l -F -o -L -R -D -J -b -c -e -m -w -W -Q -S -E -I -B', { skip: 1, shell: true, elsewhere: true }),
  autossh: w('-M -i -p -l -F -o -L -R -D -J', { skip: 1, shell: true, elsewhere: true }),
  vagrant: { word: 'ssh', code: '-c --command', elsewhere: true },
  adb: { word: 'shell', shell: true, elsewhere: true, values: '-s -t -H -P' },
  wsl: w('-d -u -e --distribution --user --cd', {}),
  lxc: { word: 'exec', skip: 1, elsewhere: true },
  heroku: w('-a --app -r --remote -s --size', { word: 'run run:detached', shell: true, elsewhere: true }),
  fly: { word: 'ssh', code: '-C --command', elsewhere: true, skip: 99, values: '-a --app' },
  flyctl: { word: 'ssh', code: '-C --command', elsewhere: true, skip: 99, values: '-a --app' },
  gcloud: { word: 'compute', code: '--command', elsewhere: true, skip: 99 },
  entr: { code: '-s' },
  ansible: w('-i -m -u -f -l -t', { code: '-a --args', skip: 99, elsewhere: true }),
  concurrently: w('-n --names -c --prefix-colors -k', { shell: true }),
  hyperfine: w('-w --warmup -r --runs -n --export-markdown --export-json -p --prepare -N', { shell: true }),
  tmux: {
    word: 'new new-session neww new-window splitw split-window run run-shell',
    values: '-s -n -c -t -x -y -e -F -l',
    shell: true,
  },
  screen: w('-S -c -h -L -p -t'),
  pwsh: w('-ExecutionPolicy -WorkingDirectory -Version', { code: '-c -Command -command -C', shell: true }),
  powershell: w('-ExecutionPolicy -WorkingDirectory -Version -ep -w -WindowStyle', {
    code: '-c -Command -command -C',
    shell: true,
  }),
}

const words = (text = ''): ReadonlySet<string> => new Set(text.split(' ').filter(Boolean))
const compiled = new Map(
  Object.entries(wrappers).map(([name, one]) => [
    name,
    {
      ...one,
      values: words(one.values),
      code: words(one.code),
      word: one.word === undefined ? null : words(one.word),
      asks: words(one.asks),
      folder: words(one.folder),
    },
  ]),
)

export interface Unwrapped {
  /** The inner command by its words; null if there is none. */
  words: string[] | null
  /** Texts for a shell. */
  code: string[]
  assignments: [name: string, value: string][]
  elsewhere: boolean
  /** The folder that it runs in, if it is named. */
  folder: string | null
}

/** What a program runs by its arguments; null if the program is not a wrapper, or only asks about one. */
export function unwrap(program: string, given: readonly string[]): Unwrapped | null {
  const wrapper = compiled.get(program)
  if (wrapper === undefined) return null
  const { values, code, word, asks, folder, skip = 0 } = wrapper
  const found: Unwrapped = {
    words: null,
    code: [],
    assignments: [],
    elsewhere: wrapper.elsewhere === true,
    folder: null,
  }
  let left = word === null ? skip : -1
  let at = 0
  for (; at < given.length; at++) {
    const one = given[at]!
    if (one === '--') {
      at++
      if (left > 0 && wrapper.dashes !== true) at += left
      break
    }
    const equals = one.indexOf('=')
    // An empty environment.
    if (one === '-' && program === 'env') continue
    if (one.startsWith('-') && one.length > 1) {
      if (asks.has(one)) return null
      const name = equals > 0 && one.startsWith('--') ? one.slice(0, equals) : one
      const inline = name === one ? undefined : one.slice(equals + 1)
      if (code.has(name)) found.code.push(inline ?? given[++at] ?? '')
      else if (folder.has(name)) found.folder = inline ?? given[++at] ?? ''
      else if (values.has(name)) {
        if (inline === undefined) at++
      } else if (!name.startsWith('--') && name.length > 2) {
        // Joined letters, of which the first one with a value has the rest or the next argument.
        const letter = [...name.slice(1)].findIndex((one) => values.has(`-${one}`) || code.has(`-${one}`))
        if (letter === name.length - 2) {
          at++
          if (code.has(`-${name.at(-1)}`)) found.code.push(given[at] ?? '')
        }
      }
      continue
    }
    if (wrapper.assigns && equals > 0 && /^[A-Za-z_]\w*$/.test(one.slice(0, equals))) {
      found.assignments.push([one.slice(0, equals), one.slice(equals + 1)])
      continue
    }
    if (left === -1) {
      if (!word!.has(one)) return null
      left = skip
      continue
    }
    if (left > 0) {
      left--
      continue
    }
    break
  }
  if (left === -1) return null
  const rest = given.slice(at)
  if (rest.length === 0) return found
  if (wrapper.dashes && given[at - 1] !== '--' && wrapper.word !== null) return found
  // watch joins its words for a shell, except with -x.
  if (wrapper.shell && !(program === 'watch' && given.slice(0, at).some((one) => /^(?:-[a-z]*x|--exec)$/.test(one))))
    found.code.push(program === 'concurrently' || program === 'hyperfine' ? rest.join('\n') : rest.join(' '))
  else found.words = [...rest]
  return found
}

/** Shells, which run the text of an option, a file or their input. */
export const shells: ReadonlySet<string> = new Set(
  'sh bash zsh dash ash ksh mksh fish rbash csh tcsh yash git-bash hush'.split(' '),
)

/** Interpreters by name: the option with code, which may be in the same word (captured), and the language. */
export const interpreters: readonly [RegExp, language: Language, code: RegExp][] = [
  [/^(?:python|pypy)[\d.]*w?$|^ipython\d?$/, 'python', /^-(?:[bBdEhiIOqsSuvVx]*c(.+)|[A-Za-z]*c)$/s],
  [
    /^(?:node|nodejs|bun|deno|tsx|ts-node)$/,
    'javascript',
    /^(?:-e|--eval|-p|--print|-pe|eval)$|^--(?:eval|print)=(.*)$/s,
  ],
  [/^perl[\d.]*$/, 'perl', /^-(?:[acflnpsStTuUvwWX\d]*[eE](.+)|[A-Za-z\d]*[eE])$/s],
  [/^(?:ruby|jruby)[\d.]*$/, 'ruby', /^-(?:[aclnpsSw\d]*e(.+)|[A-Za-z]*e)$/s],
  [/^php[\d.]*$/, 'php', /^-r(.+)?$/s],
  [/^(?:lua|luajit)[\d.]*$/, 'lua', /^-e(.+)?$/s],
  [/^osascript$/, 'applescript', /^-e(.+)?$/s],
  [
    /^(?:vi|vim|nvim|ex|R|Rscript|elixir|iex|julia|octave|octave-cli|erl|ghc|ghci|runghc|ocaml|emacs|emacsclient|guile|racket|sbcl|clisp|ecl|bb|clj|clojure|tclsh|wish|expect|raku|crystal|nim|swift|kotlin|gnuplot|maxima|janet|fennel|gimp|blender|dotnet-script|csi)$/,
    'other',
    /^(?:--cmd|-{1,2}(?:e|eval|expr|expression|batch-eval|execute|c|E|x|i|M|python-expr|ex)|-?-eval-?\w*)(?:=(.*))?$/s,
  ],
  [/^(?:groovy|scala|jshell)$/, 'javascript', /^-e$/],
]
export type Language = 'python' | 'javascript' | 'perl' | 'ruby' | 'php' | 'lua' | 'applescript' | 'other' | 'awk'
