import { readBuiltIn } from "../../src/drivers/built-in.ts";
import type { DriverInfo } from "../../src/drivers/driver-info.ts";

/** The built-in drivers, read with validation, which also reports duplicate members. */
export const builtIn = readBuiltIn({ trusted: false });

/** A driver that the real reader makes from the content of its file. */
export function driverOf(file: object): DriverInfo {
  const text = JSON.stringify({ name: "Sample", ...file });
  const driver = builtIn.reader({ file: "sample.json", text });
  if (driver === undefined) throw new Error("the sample is not offered");
  return driver;
}

/** A built-in driver by name. */
export function builtInDriver(name: string): DriverInfo {
  const driver = builtIn.drivers.find(({ config }) => config.name === name);
  if (driver === undefined) throw new Error(`no built-in driver ${name}`);
  return driver;
}
