import type { JSX } from "preact";
import type { Setting } from "../../../../gen/mooring/v1/setting_pb.js";
import type { EditorProps } from "./fields.tsx";
import { Choice, Colour, Line, NumberField, Switch, Text } from "./fields.tsx";
import { Json } from "./json.tsx";
import { List } from "./list.tsx";
import { Secret } from "./secret.tsx";
import "../../components/field.css";
import "./editor.css";

type Editor = (props: EditorProps) => JSX.Element;

const BY_FORMAT: Readonly<Record<string, Editor>> = {
  buckets: Json,
  color: Colour,
  json_object: Json,
  link_lines: Text,
  list: List,
  path_lines: Text,
  port_map: Text,
  previews: Json,
  re2_lines: Text,
  regex_lines: Text,
  string_map: Json,
};

const BY_TYPE: Readonly<Record<string, Editor>> = {
  bool: Switch,
  number: NumberField,
  select: Choice,
  text: Text,
};

/** Editor of a setting, by its format or else its type. */
export function editorOf({ secret, format, type, options }: Setting): Editor {
  if (secret) return Secret;
  // A select without options accepts any text: its options are data of each site.
  if (type === "select" && options === "") return Line;
  return BY_FORMAT[format] ?? BY_TYPE[type] ?? Line;
}

/** Reports whether an editor has several lines and takes the full width. */
export function isWide(setting: Setting): boolean {
  return [Json, List, Text].includes(editorOf(setting));
}
