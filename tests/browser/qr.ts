import type { Locator } from "@playwright/test";
import jsQR from "jsqr";

/** Decodes the QR code in an element's screenshot; null if there is none or the page moves. */
export async function decoded(element: Locator): Promise<string | null> {
  const png = (await element.screenshot()).toString("base64");
  const blank = await element.page().context().newPage();
  const { grey, width, height } = await blank.evaluate(async (png) => {
    const picture = new Image();
    picture.src = `data:image/png;base64,${png}`;
    await picture.decode();
    const [width, height] = [picture.naturalWidth, picture.naturalHeight];
    const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d")!;
    context.drawImage(picture, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    return { grey: Array.from({ length: width * height }, (_, i) => data[4 * i]), width, height };
  }, png);
  await blank.close();
  const pixels = new Uint8ClampedArray(4 * grey.length);
  grey.forEach((value, i) => pixels.set([value, value, value, 255], 4 * i));
  return jsQR(pixels, width, height)?.data ?? null;
}
