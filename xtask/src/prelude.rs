//! Common imports of this program's modules.

pub(crate) use std::{
    path::{Path, PathBuf},
    process::Command,
};

pub(crate) use fs_err as fs;

pub(crate) use crate::{
    error::{Error, Result, wrong},
    project::{Project, asked, copy_into, files, first_line, make_empty, named, remove, which},
    screen::Step,
};
