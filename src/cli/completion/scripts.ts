/** For each shell, a script that asks the program itself for the candidates. It loads nothing and needs no library. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: String.raw`# source <(envoy-initializer completion bash)
__envoy_initializer() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    line=${'$'}{line%%$'\t'*}
    [[ $line == :* ]] || COMPREPLY+=("$line")
  done < <(envoy-initializer __complete "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F __envoy_initializer envoy-initializer
`,
  zsh: String.raw`#compdef envoy-initializer
# source <(envoy-initializer completion zsh)
_envoy_initializer() {
  local -a lines found
  lines=("${'$'}{(@f)$(envoy-initializer __complete "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(${'$'}{${'$'}{lines:#:*}%%$'\t'*})
  if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _envoy_initializer envoy-initializer
`,
  fish: String.raw`# envoy-initializer completion fish | source
function __envoy_initializer
  set -l words (commandline -opc)
  set -l found (envoy-initializer __complete $words[2..-1] (commandline -ct) 2>/dev/null | string match -v ':*')
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c envoy-initializer -f -a '(__envoy_initializer)'
`,
  // Before PowerShell 7.3, programs do not get empty arguments.
  powershell: String.raw`# envoy-initializer completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName envoy-initializer -ScriptBlock {
  param($word, $line, $position)
  $before = @($line.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { "$_" })
  envoy-initializer __complete @before $word 2>$null | Where-Object { $_ -notlike ':*' } | ForEach-Object {
    $value, $help = $_ -split '\t', 2
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', ($help ? $help : $value))
  }
}
`,
};
