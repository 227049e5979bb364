/** The options of programs: which take a value, and which mean the same. */

export interface Grammar {
  /** Options that take a value in the next argument. */
  values?: string
  /** Spellings that mean the same: `-f --force, -d --delete`. */
  same?: string
  /** Long options by which shortened ones are recognised. */
  long?: string
  /** The first argument ends the options of the program, as in `sudo`. */
  stops?: true
  /** Long options have one dash: `terraform -auto-approve`. */
  single?: true
}

const rm = '-r --recursive -R, -f --force, -i --interactive, -v --verbose'

/** Grammars by program, or by program and first word. */
export const grammars: Record<string, Grammar> = {
  rm: { same: rm, long: '--recursive --force --no-preserve-root --interactive --verbose --one-file-system' },
  chmod: { same: '-R --recursive', long: '--recursive', values: '--reference' },
  chown: { same: '-R --recursive', long: '--recursive', values: '--reference --from' },
  chgrp: { same: '-R --recursive', long: '--recursive', values: '--reference' },
  cp: { same: '-r --recursive -R -a --archive, -t --target-directory', values: '-t --target-directory -S --suffix' },
  install: { values: '-m --mode -o --owner -g --group -t --target-directory -S --suffix' },
  mv: { same: '-t --target-directory', values: '-t --target-directory -S --suffix' },
  shred: { same: '-u --remove', values: '-n --iterations -s --size' },
  truncate: { same: '-s --size', values: '-s --size -r --reference' },
  head: { values: '-n --lines -c --bytes' },
  tail: { values: '-n --lines -c --bytes -s --sleep-interval --pid' },
  cut: { values: '-b --bytes -c --characters -d --delimiter -f --fields' },
  tee: { same: '-a --append', long: '--append' },
  git: { values: '-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix', stops: true },
  'git push': {
    same: '-f --force, -d --delete, -n --dry-run, -u --set-upstream',
    values: '-o --push-option --repo --receive-pack --exec',
    long: '--force --force-with-lease --delete --mirror --prune --all --tags --no-verify --dry-run --force-if-includes',
  },
  'git reset': { long: '--hard --soft --mixed --merge --keep', same: '-q --quiet' },
  'git checkout': {
    same: '-f --force, -b --new, -B --new',
    values: '-b -B --orphan --conflict --pathspec-from-file --inter-hunk-context --unified',
    long: '--force --ours --theirs --patch --detach --merge --pathspec-from-file',
  },
  'git switch': {
    same: '-f --force --discard-changes, -c --create, -C --force-create',
    values: '-c -C --create --force-create --orphan --conflict',
    long: '--force --discard-changes',
  },
  'git restore': {
    same: '-S --staged, -W --worktree, -s --source, -p --patch',
    values: '-s --source --conflict --pathspec-from-file',
    long: '--staged --worktree --source --patch',
  },
  'git clean': {
    same: '-f --force, -n --dry-run, -i --interactive',
    values: '-e --exclude',
    long: '--force --dry-run --interactive',
  },
  'git branch': {
    same: '-D --force-delete, -d --delete, -f --force, -r --remotes, -m --move, -M --move',
    values: '-u --set-upstream-to --contains --no-contains --merged --no-merged --sort --format --points-at',
  },
  'git commit': {
    same: '-n --no-verify, -a --all, -m --message',
    values: '-m --message -F --file -C -c --author --date --fixup --squash -t --template',
    long: '--no-verify --amend',
  },
  'git tag': {
    same: '-d --delete, -f --force, -m --message',
    values: '-m --message -F --file -u --local-user --sort --format',
  },
  'git stash': { same: '-u --include-untracked, -m --message', values: '-m --message' },
  'git worktree': { same: '-f --force', long: '--force' },
  'git rebase': { values: '--onto -x --exec -s --strategy -X' },
  find: {
    single: true,
    values:
      '-name -iname -path -ipath -type -mtime -mmin -atime -ctime -newer -size -maxdepth -mindepth -user -group -perm -regex -iregex -wholename -printf -fprintf -fls -fprint -inum -links -samefile -newermt',
  },
  curl: {
    same: '-d --data, -F --form, -T --upload-file, -o --output, -O --remote-name, -X --request, -u --user, -H --header, -K --config',
    values:
      '-d --data --data-binary --data-raw --data-urlencode --data-ascii --json -F --form --form-string -T --upload-file -o --output -X --request -u --user -H --header -A --user-agent -e --referer -b --cookie -c --cookie-jar -x --proxy -m --max-time --connect-timeout --retry --retry-delay -w --write-out -E --cert --key --cacert --capath -K --config --url -r --range -C --continue-at --resolve --output-dir -D --dump-header --limit-rate -y -Y -z --unix-socket',
  },
  wget: {
    same: '-O --output-document, -o --output-file',
    values:
      '-O --output-document -o --output-file -P --directory-prefix --post-data --post-file --body-data --body-file --header -U --user-agent -T --timeout -t --tries -i --input-file -e --user --password --method -A -R -l --level',
  },
  dd: {},
  tar: {
    same: '-x --extract, -c --create, -f --file, -C --directory',
    values:
      '-f --file -C --directory -T -X --exclude --transform --strip-components -I --use-compress-program --checkpoint-action --to-command',
  },
  rsync: {
    same: '-e --rsh, -n --dry-run',
    values:
      '-e --rsh --exclude --include --filter --exclude-from --include-from --files-from --rsync-path --log-file --bwlimit -f --password-file --partial-dir --backup-dir --link-dest',
    long: '--delete --delete-before --delete-after --delete-during --delete-excluded --dry-run --remove-source-files',
  },
  scp: { values: '-i -P -F -o -c -l -S -J' },
  ssh: { values: '-i -p -l -F -o -L -R -D -J -b -c -e -m -w -W -Q -S -E -I -B', stops: true },
  nc: { values: '-p -w -s -i -e -c -q -X -x -m -b -g -G -I -O -P -T -V' },
  kubectl: {
    same: '-n --namespace, -f --filename, -l --selector, -A --all-namespaces, -R --recursive',
    values:
      '-n --namespace -f --filename -l --selector --context --cluster --user --kubeconfig -o --output --replicas --grace-period --timeout --field-selector --dry-run=x -c --container --as -p --patch --type --token --server',
  },
  helm: {
    same: '-n --namespace, -f --values',
    values: '-n --namespace -f --values --set --set-string --version --kube-context --kubeconfig --timeout --repo',
  },
  docker: { values: '-H --host -c --context -l --log-level --config', stops: true },
  'docker compose': {
    values: '-f --file -p --project-name --profile --env-file --project-directory',
    same: '-v --volumes',
  },
  'docker run': {
    values:
      '-v --volume --mount -e --env --name -p --publish --network --entrypoint -w --workdir -u --user --env-file --platform --memory -m --cpus -l --label --hostname -h --pid --ipc --gpus --cap-add --cap-drop --security-opt --device --tmpfs --shm-size --ulimit --add-host --log-driver --restart',
    stops: true,
    same: '-v --volume',
  },
  'docker exec': { values: '-e --env -u --user -w --workdir --env-file --detach-keys', stops: true },
  'docker system': { same: '-a --all, -f --force', values: '--filter' },
  'docker volume': { same: '-f --force, -a --all', values: '--filter -d --driver -o --opt --name' },
  'docker rm': { same: '-f --force, -v --volumes' },
  'docker build': {
    values:
      '-t --tag -f --file --build-arg --target --platform --secret --ssh --cache-from --cache-to -o --output --label',
  },
  aws: {
    values:
      '--profile --region --output --query --endpoint-url --bucket --key --instance-ids --stack-name --db-instance-identifier --table-name --function-name --role-name --user-name --policy-arn --group-name --name --cluster --service --filters --cli-input-json --parameters --secret-id --key-id --file-system-id --volume-id --snapshot-id --hosted-zone-id --change-batch --log-group-name --queue-url --topic-arn --body --recovery-window-in-days --db-cluster-identifier --repository-name --vpc-id --subnet-id --exclude --include --acl',
  },
  gcloud: { values: '--project --zone --region --format --filter --account --cluster --location --configuration' },
  az: {
    same: '-y --yes, -n --name, -g --resource-group',
    values:
      '-n --name -g --resource-group --subscription -o --output --query -l --location --ids --vault-name --account-name',
  },
  gh: {
    same: '-R --repo, -X --method',
    values:
      '-R --repo -X --method -F --field -f --raw-field -H --header -q --jq -t --title -b --body -B --base --head --json -L --limit -l --label -a --assignee --input -w --workflow',
  },
  terraform: { single: true, values: '-chdir -var -var-file -target -state -out -lock -parallelism -backend-config' },
  psql: {
    same: '-c --command, -f --file, -d --dbname',
    values:
      '-c --command -f --file -d --dbname -h --host -U --username -p --port -v --set -o --output -P --pset -F -R -L',
  },
  mysql: {
    same: '-e --execute, -D --database, -h --host, -u --user',
    values:
      '-e --execute -D --database -h --host -u --user -P --port -S --socket --defaults-file --defaults-extra-file --ssl-ca',
  },
  sqlite3: { single: true, values: '-cmd -init -separator -nullvalue' },
  mongosh: { values: '--eval --host --port -u --username -p --password --authenticationDatabase -f --file' },
  'redis-cli': { values: '-h -p -a -n -u --user --pass -s -r -i -x --eval --pattern --cacert' },
  npm: { values: '--registry --tag --otp --access -w --workspace --prefix --userconfig --loglevel --cache -C' },
  pip: {
    values:
      '-r --requirement -i --index-url --extra-index-url -c --constraint -t --target --prefix --root -f --find-links -e --editable --timeout --python',
  },
  make: {
    values: '-C --directory -f --file --makefile -j --jobs -I -o -W',
    same: '-C --directory, -f --file --makefile',
  },
  systemctl: {},
  kill: { values: '-s --signal -n' },
  sed: { same: '-i --in-place, -e --expression, -n --quiet', values: '-e --expression -f --file -l' },
  openssl: { single: true, values: '-in -out -k -pass -K -iv -inkey -key -keyout -days -subj -md -passin -passout' },
  base64: { same: '-d --decode -D', values: '-w --wrap -i --input -o --output' },
  xxd: { same: '-r -revert, -p -ps -plain', values: '-c -cols -g -l -s -o' },
}
export const sameAs: Record<string, string> = {
  unlink: 'rm',
  rmdir: 'rm',
  srm: 'rm',
  trash: 'rm',
  podman: 'docker',
  nerdctl: 'docker',
  tofu: 'terraform',
  terragrunt: 'terraform',
  oc: 'kubectl',
  k: 'kubectl',
  ncat: 'nc',
  netcat: 'nc',
  mariadb: 'mysql',
  mongo: 'mongosh',
  pip3: 'pip',
  pnpm: 'npm',
  yarn: 'npm',
  bun: 'npm',
  gmake: 'make',
  gsed: 'sed',
  grm: 'rm',
  'valkey-cli': 'redis-cli',
  gtar: 'tar',
  bsdtar: 'tar',
}
