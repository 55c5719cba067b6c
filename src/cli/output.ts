import { styleText } from "node:util";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import type { Environment } from "../config/config.ts";
import { OutputClosed } from "./failure.ts";
import { printableJson, printableText } from "./printable.ts";
import { type Column, renderTable } from "./table.ts";
import type { OutputStream } from "./world.ts";

/** Styles in use; none carries a meaning by itself. */
type Style = "bold" | "dim" | "red" | "green" | "yellow";

/** Standard output or standard error of a command. */
export interface Output {
  readonly isTerminal: boolean;
  /** Columns of the terminal; Infinity without one. */
  readonly width: number;
  style(style: Style, text: string): string;
  /**
   * Writes text unchanged; resolves when the stream has accepted it.
   *
   * @throws OutputClosed when the reader has gone.
   */
  write(text: string): Promise<void>;
  /** Writes a value: unchanged to a pipe or file, without control characters to a terminal. */
  value(text: string): Promise<void>;
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): Promise<void>;
  /** Writes a message of the contract as JSON with the names of the proto file, all members. */
  json<D extends DescMessage>(desc: D, message: MessageShape<D>): Promise<void>;
  /** Like json, in one line. */
  jsonLine<D extends DescMessage>(desc: D, message: MessageShape<D>): Promise<void>;
}

export function createOutput(stream: OutputStream, env: Environment): Output {
  const isTerminal = stream.isTTY === true;
  const width = isTerminal ? Math.max(stream.columns || 80, 20) : Number.POSITIVE_INFINITY;
  const { NO_COLOR, TERM } = env;
  const colors = isTerminal && !NO_COLOR && TERM !== "dumb";
  const style: Output["style"] = (format, text) =>
    colors ? styleText(format, text, { validateStream: false }) : text;
  const write = createWrite(stream);
  return {
    isTerminal,
    width,
    style,
    write,
    value: (text) => write(isTerminal ? printableText(text) : text),
    table: (columns, rows) =>
      write(renderTable(columns, rows, { width, head: (line) => style("bold", line) })),
    json: (desc, message) => write(`${jsonOf(desc, message, 2)}\n`),
    jsonLine: (desc, message) => write(`${jsonOf(desc, message)}\n`),
  };
}

function createWrite(stream: OutputStream): Output["write"] {
  let failure: unknown;
  // A stream without this listener would end the process when its reader goes away.
  stream.on("error", (error) => {
    failure ??= error;
  });
  return (text) =>
    new Promise((resolve, reject) => {
      const settle = (error: unknown): void => {
        if (error === undefined || error === null) resolve();
        else reject(isClosed(error) ? new OutputClosed() : error);
      };
      if (failure !== undefined) settle(failure);
      else stream.write(text, settle);
    });
}

function isClosed(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error)) return false;
  return ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"].includes(
    String(error.code),
  );
}

function jsonOf<D extends DescMessage>(desc: D, message: MessageShape<D>, indent?: number): string {
  const json = toJson(desc, message, { alwaysEmitImplicit: true, useProtoFieldName: true });
  return printableJson(JSON.stringify(json, undefined, indent));
}
