// Interlock for opencode: asks before every call of a tool, and reports what came of it.
// Written by `interlock install opencode`, and removed by `interlock uninstall opencode`.
// INVARIANT: a call goes through only where the answer is a JSON object that says "allow".
import { spawn, spawnSync } from "node:child_process"

const COMMAND = "@COMMAND@"
const DEADLINE_S = "@DEADLINE@"
const WAITS = "@WAITS@"
const STOP_S = 590
const TOLD_S = 20

const parents = new Map() // of sub-agents' sessions
const words = new Map() // the last text of each session
const spent = new Map() // what models used, until it is told
const active = new Set() // sessions that have asked anything

function payload(opencode, session, more) {
  const used = [...(spent.get(session)?.values() ?? [])]
  return JSON.stringify({ opencode, session, parent: parents.get(session), used, ...more })
}

function ask(args, input, seconds) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), ...args, `--deadline=${seconds}`])
    const late = setTimeout(() => child.kill("SIGKILL"), 1000 * (seconds + 3))
    const said = []
    const complaint = []
    child.stdout.on("data", (piece) => said.push(piece))
    child.stderr.on("data", (piece) => complaint.push(piece))
    child.stdin.on("error", () => {}) // it may have answered without reading
    child.on("error", (error) => {
      clearTimeout(late)
      reject(error)
    })
    child.on("close", (code) => {
      clearTimeout(late)
      try {
        resolve(JSON.parse(Buffer.concat(said).toString()))
      } catch {
        reject(new Error(Buffer.concat(complaint).toString().trim() || `exit code ${code}`))
      }
    })
    child.stdin.end(input)
  })
}

async function tell(opencode, session, more) {
  try {
    await ask(["told"], payload(opencode, session, more), TOLD_S)
  } catch {
    // Nothing hangs on it: the next call of a tool is asked about all the same.
  }
}

async function judge(session, more) {
  try {
    return await ask(WAITS, payload("call", session, more), DEADLINE_S)
  } catch (error) {
    return { decision: "deny", reason: `interlock: no answer: ${error.message}` }
  }
}

function texts(parts) {
  const found = (parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
  return found.map((part) => part.text).join("\n")
}

export const Interlock = async ({ client, directory }) => {
  async function onIdle(session) {
    const finish = "stop"
    const text = words.get(session)
    let answer
    try {
      answer = await ask(["stop"], payload("stop", session, { directory, text, finish }), STOP_S)
    } catch {
      return // An agent must be able to end.
    }
    spent.delete(session)
    if (answer?.decision !== "continue" || parents.has(session)) return
    const body = { parts: [{ type: "text", text: answer.reason }] }
    client.session.promptAsync({ path: { id: session }, body }).catch(() => {})
  }

  process.on("exit", () => {
    for (const session of active) {
      const command = [...COMMAND.slice(1), "told", "--deadline=3"]
      spawnSync(COMMAND[0], command, { input: payload("ended", session, {}), timeout: 4000 })
    }
  })

  return {
    "chat.message": async (input, output) => {
      active.add(input.sessionID)
      await tell("prompt", input.sessionID, { directory, text: texts(output?.parts) })
    },
    "tool.execute.before": async (input, output) => {
      const session = input.sessionID
      active.add(session)
      const more = { directory, tool: input.tool, call: input.callID, args: output.args ?? {} }
      const answer = await judge(session, more)
      if (answer?.decision === "allow") return
      if (answer?.decision === "halt") client.session.abort({ path: { id: session } }).catch(() => {})
      throw new Error(answer?.reason || "interlock: refused, for no reason that is known")
    },
    "tool.execute.after": async (input, output) => {
      const exit = output?.metadata?.exit
      await tell("seen", input.sessionID, {
        directory,
        tool: input.tool,
        call: input.callID,
        args: input.args ?? {},
        output: String(output?.output ?? "").slice(0, 1000000),
        exit_code: Number.isInteger(exit) ? exit : undefined,
      })
    },
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) parents.set(info.id, info.parentID)
      if (event.type === "message.part.updated" && event.properties.part?.type === "text")
        words.set(event.properties.part.sessionID, event.properties.part.text)
      if (event.type === "message.updated" && info?.role === "assistant" && info.time?.completed) {
        const { input = 0, output = 0, reasoning = 0, cache = {} } = info.tokens ?? {}
        const used = { id: info.id, model: info.modelID, input, output: output + reasoning }
        const found = spent.get(info.sessionID) ?? new Map()
        spent.set(info.sessionID, found)
        found.set(info.id, { ...used, cache_read: cache.read ?? 0, cache_write: cache.write ?? 0 })
      }
      if (event.type === "session.compacted") await tell("compact", event.properties.sessionID, { directory })
      if (event.type === "session.idle") await onIdle(event.properties.sessionID)
      if (event.type === "session.deleted" && info?.id) {
        active.delete(info.id)
        await tell("ended", info.id, { directory })
      }
    },
  }
}
