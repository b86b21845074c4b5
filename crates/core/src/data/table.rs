//! CSV: a line for each image, a label and its values. Names of columns, if there are any, tell which
//! is the label, and which, if any, is the user's; else the first column is the label.

use csv::{ByteRecord, ReaderBuilder};

use super::{
    file_fault::{FileFault, MOST_EXAMPLES, MOST_OF_ONE, shown},
    npy::Array,
    npz::{Named, is_label_word},
    picture::{LONGEST_NAME, MOST_SIDE},
    users,
    words::words,
};

/// Most columns: the values of the largest colour image, a label, and a few others.
const MOST_COLUMNS: usize = 3 * (MOST_SIDE as usize).pow(2) + 16;

/// Longest label or user, in bytes: a name of four bytes a character.
const LONGEST_LABEL: usize = 4 * LONGEST_NAME;

/// True for the first bytes of a text whose first line has several columns.
pub(super) fn is_table(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let printable = text.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\r' | b'\n'));
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    printable && first.iter().filter(|&&byte| byte == delimiter(first)).count() >= 2 && !first.starts_with(b"<")
}

/// The most frequent of comma, semicolon and tab.
fn delimiter(line: &[u8]) -> u8 {
    let count = |&mark: &u8| line.iter().filter(|&&byte| byte == mark).count();
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

fn number(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

/// Reads a table as an array of images, one of labels and, if a column tells them, one of users.
///
/// # Errors
/// A line of another length, a value that is no number, or too many lines or columns.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Named>, FileFault> {
    within(bytes, MOST_OF_ONE)
}

/// As [`read`], with at most `most` bytes of values.
fn within(bytes: &[u8], most: u64) -> Result<Vec<Named>, FileFault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter(first)).from_reader(bytes);
    // Four bytes a value.
    let (mut values, mut labels, mut users): (Vec<u8>, Vec<Vec<u8>>, Vec<Vec<u8>>) = (vec![], vec![], vec![]);
    let (mut record, mut columns, mut label, mut user, mut line) = (ByteRecord::new(), 0, 0, None, 0);
    // Bytes in memory are always read.
    while reader.read_byte_record(&mut record).unwrap_or(false) {
        line += 1;
        if columns == 0 {
            columns = record.len();
            if !(2..=MOST_COLUMNS).contains(&columns) {
                return Err(FileFault::TableColumns { found: columns, most: MOST_COLUMNS });
            }
            // Names: a line whose last or second column is no number.
            if number(&record[columns - 1]).is_none() || columns > 2 && number(&record[1]).is_none() {
                let name = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
                label = record.iter().position(|field| is_label_word(&name(field))).unwrap_or(0);
                let told =
                    |&(place, field): &(usize, &[u8])| place != label && users::are_told_by(&words(&name(field)));
                let mut all = record.iter().enumerate().filter(told);
                user = all.next().map(|(place, _)| place);
                if let (Some(first), Some((second, _))) = (user, all.next()) {
                    let [first, second] = [first, second].map(|place| shown(&name(&record[place])));
                    return Err(FileFault::TwoUsers { first, second });
                }
                continue;
            }
        }
        if record.len() != columns {
            return Err(FileFault::TableLine { line, found: record.len(), expected: columns });
        }
        if labels.len() >= MOST_EXAMPLES {
            return Err(FileFault::TooMany { found: labels.len() as u64 + 1 });
        }
        let entry = || format!("line {line}");
        if (values.len() + 4 * columns) as u64 > most {
            return Err(FileFault::TooMuch { entry: entry(), most });
        }
        let no_memory = |_| FileFault::NoMemory { entry: entry(), bytes: 4 * columns as u64 };
        values.try_reserve(4 * columns).map_err(no_memory)?;
        for (column, field) in record.iter().enumerate() {
            let fault = || {
                let found = shown(&String::from_utf8_lossy(field));
                FileFault::TableValue { line, column: column + 1, found }
            };
            if column == label || Some(column) == user {
                // Texts are padded to the longest.
                let text = field.trim_ascii();
                let texts = if column == label { &mut labels } else { &mut users };
                texts.push(if text.len() <= LONGEST_LABEL { text.to_vec() } else { return Err(fault()) });
            } else {
                values.extend(number(field).ok_or_else(fault)?.to_le_bytes());
            }
        }
    }
    let others = if user.is_some() { 2 } else { 1 };
    let images = Array::of_numbers("images", &[labels.len(), columns.saturating_sub(others)], values);
    let labels = Array::of_texts("labels", &labels);
    let users = user.map(|_| ("users", Array::of_texts("users", &users)));
    let named = |(name, array): (&str, Array)| Named { name: name.to_owned(), array: Ok(array) };
    Ok([("images", images), ("labels", labels)].into_iter().chain(users).map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{npz, sets::Sets};

    fn sets_of(text: &str) -> Result<Sets, String> {
        assert!(is_table(text.as_bytes()), "{text}");
        let arrays = read(text.as_bytes()).map_err(|fault| fault.to_string())?;
        npz::read("a.csv", arrays).map_err(|error| error.to_string())
    }

    fn sets(text: &str) -> Result<(usize, Vec<u8>, Vec<u8>), String> {
        let sets = sets_of(text)?;
        Ok((sets.picture.pixels(), sets.train.images, sets.train.labels))
    }

    #[test]
    fn tables_with_and_without_names_are_read() {
        let read = Ok((4, vec![0, 100, 200, 255, 1, 2, 3, 4], vec![7, 9]));
        for text in [
            "7,0,100,200,255\n9,1,2,3,4\n",
            "label,a,b,c,d\r\n7,0,100,200,255\r\n9,1,2,3,4",
            "a;b;c;d;class\n0;100;200;255;7\n1;2;3;4;9\n",
            "\u{feff}y\tp0\tp1\tp2\tp3\n7\t0\t100\t200\t255.0\n9\t1\t2\t3\t4\n",
            "\"label\",\"a\",\"b\",\"c\",\"d\"\n7,0,100, 200 ,255\n\"9\",1,2,3,4\n",
        ] {
            assert_eq!(sets(text), read, "{text}");
        }
        assert_eq!(sets("label,a,b,c,d\ncat,0,1,1,0\nant,1,1,1,1\n").unwrap().2, [1, 0]);
    }

    #[test]
    fn a_column_of_users_is_no_pixel() {
        for text in [
            "label,writer,a,b,c,d\n7,x,0,100,200,255\n9,y,1,2,3,4\n8, x,0,0,0,0\n",
            "a;b;c;d;User_ID;class\n0;100;200;255;3;7\n1;2;3;4;-12;9\n0;0;0;0;3;8\n",
            "SUBJECT,label,a,b,c,d\nx,7,0,100,200,255\n\"y\",9,1,2,3,4\nx,8,0,0,0,0\n",
        ] {
            let sets = npz::read("a.csv", read(text.as_bytes()).unwrap()).unwrap();
            assert_eq!((sets.train.images.len(), &sets.train.labels[..]), (12, &[7, 9, 8][..]), "{text}");
            let (train, _) = sets.named("a");
            let users = train.users.unwrap();
            assert_eq!((users.of(), users.count()), (&[0, 1, 0][..], 2), "{text}");
        }
        // Without a label, the first column is it, whatever its name.
        let sets = npz::read("a.csv", read(b"user,a,b,c,d\n7,0,100,200,255\n").unwrap()).unwrap();
        assert_eq!((sets.train.labels, sets.train.users), (vec![7], None));
        for (text, says) in [
            ("label,user,a\n7,x,200\n7,,200\n", "“users”: no user at example 1 (counted from 0); give each example"),
            ("label,user,writer,a\n7,x,y,200\n", "the columns “user” and “writer” could both be the users"),
        ] {
            let error = sets_of(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn faulty_tables_are_reported() {
        for (text, says) in [
            ("7,0,100,200,255\n9,1,2,3\n", "line 2 has 4 columns; expected 5"),
            ("7,0,100,200,255\n9,1,x,3,4\n", "line 2, column 3: “x”"),
            ("7,0,100,200\n9,1,2,3\n", "“images” has shape “(2, 3)”; expected"),
            ("label,a,b,c,d\n", "it holds no example"),
            ("7,0,100,200,-255\n", "the values of the images are from -255 to 200"),
            ("700,0,100,200,255\n8,0,0,0,0\n", "“labels”"),
        ] {
            let error = sets(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let long = format!("{},0,100,200,255\n", "x".repeat(LONGEST_LABEL + 1));
        assert!(sets(&long.repeat(2)).unwrap_err().contains("line 1, column 1: “xxx"));
        let fault = within(b"7,0,100,200,255\n".repeat(9).as_slice(), 100).unwrap_err().to_string();
        assert!(fault.starts_with("unpacked, it exceeds 100 bytes at “line 7”"), "{fault}");
        for other in ["hello", "<a>,<b>,<c>", "a,b", "\0\0\u{8}\u{1},,,"] {
            assert!(!is_table(other.as_bytes()), "{other}");
        }
    }
}
