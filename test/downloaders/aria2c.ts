import { connect } from "node:net";
import { type Program, startProgram } from "./program.ts";

/** A real aria2 on 127.0.0.1. */
export interface Aria2c extends Program {
  readonly port: number;
  /** The address of its JSON-RPC interface. */
  uri(scheme: "http" | "https" | "ws" | "wss"): string;
}

/** Options of aria2. */
export interface Aria2cOptions {
  /** `--rpc-secret`; default: none. */
  readonly secret?: string;
  /** `--rpc-user` and `--rpc-passwd`; default: none. */
  readonly login?: { readonly user: string; readonly password: string };
  /** PEM files for `--rpc-secure`; default: plain HTTP. */
  readonly tls?: { readonly certificate: string; readonly privateKey: string };
}

/**
 * Starts aria2c with its RPC interface on a free port of 127.0.0.1, without a configuration file,
 * in a folder of its own. It ends with this process at the latest.
 */
export async function startAria2c({ secret, login, tls }: Aria2cOptions = {}): Promise<Aria2c> {
  const program = await startProgram({
    command: "aria2c",
    prepare: async (port, folder) => [
      "--no-conf",
      "--quiet",
      "--enable-rpc",
      `--rpc-listen-port=${port}`,
      `--dir=${folder}`,
      `--stop-with-process=${process.pid}`,
      ...(secret === undefined ? [] : [`--rpc-secret=${secret}`]),
      ...(login === undefined
        ? []
        : [`--rpc-user=${login.user}`, `--rpc-passwd=${login.password}`]),
      ...(tls === undefined
        ? []
        : [
            "--rpc-secure",
            `--rpc-certificate=${tls.certificate}`,
            `--rpc-private-key=${tls.privateKey}`,
          ]),
    ],
    isReady: canConnect,
  });
  return { ...program, uri: (scheme) => `${scheme}://127.0.0.1:${program.port}/jsonrpc` };
}

async function canConnect(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
